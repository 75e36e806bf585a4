import { Injectable } from '@nestjs/common';
import { QueueAccess } from '../jobs/queue-access.js';

type Totals = Record<string, number>;

/** The counts since the last reset, because the queue counts permanently. Redis keeps the counts at the reset. */
@Injectable()
export class TotalsSinceReset {
  private zero: Totals | undefined;

  constructor(private readonly queue: QueueAccess) {}

  async since(totals: Totals): Promise<Totals> {
    this.zero ??= JSON.parse((await this.queue.ask(() => this.queue.notes.get(this.key))) ?? '{}') as Totals;
    // Less than at the reset: Redis has lost its data, and counts from zero itself.
    if (Object.entries(this.zero).some(([name, before]) => (totals[name] ?? 0) < before)) await this.forget();
    const counted = Object.entries(totals).map(([name, count]) => [name, count - (this.zero?.[name] ?? 0)]);
    return Object.fromEntries(counted) as Totals;
  }

  async reset(): Promise<void> {
    this.zero = (await this.queue.stats()).totals;
    await this.queue.ask(() => this.queue.notes.set(this.key, JSON.stringify(this.zero)));
  }

  private async forget(): Promise<void> {
    this.zero = {};
    await this.queue.ask(() => this.queue.notes.del(this.key));
  }

  private get key(): string {
    return `shop:${this.queue.name}:zero`;
  }
}
