import { Injectable } from '@nestjs/common';
import { QueueAccess } from '../jobs/queue-access.js';

/** Numbers the orders that jobs are about, from 1 since the last reset. */
@Injectable()
export class Orders {
  constructor(private readonly queue: QueueAccess) {}

  /** Returns the first of `count` new numbers. */
  async take(count: number): Promise<number> {
    const last = await this.queue.ask(() => this.queue.notes.incrby(this.key, count));
    return last - count + 1;
  }

  async reset(): Promise<void> {
    await this.queue.ask(() => this.queue.notes.del(this.key));
  }

  private get key(): string {
    return `shop:${this.queue.name}:orders`;
  }
}
