import { setTimeout as wait } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { JobHandler, NonRetryableError, RecurringJob, type Job } from 'nest-job-queue';
import { SEEDS } from './seeded-queues.js';

/** The number of refused payments that are remembered. */
const REMEMBERED = 10_000;

export interface Payment {
  order: number;
  customer: string;
  euros: number;
}

/** The work of the seeded queues. No handler serves `newsletter`, so that queue is stuck. */
@Injectable()
export class SeededHandlers {
  private readonly refused = new Set<string>();

  @JobHandler('search-index', { connection: SEEDS, concurrency: 4 })
  async index({ payload, signal }: Job<{ product: string }>) {
    await wait(80, undefined, { signal });
    return { product: payload.product, words: 40 + payload.product.length };
  }

  /** Fails most payments. Those that an operator redrives complete, as if the provider were back. */
  @JobHandler('payment', { connection: SEEDS, concurrency: 4, maxAttempts: 2, backoff: 200 })
  async pay({ id, payload, attempt, maxAttempts, signal }: Job<Payment>) {
    await wait(120, undefined, { signal });
    if (payload.order % 4 === 0 || this.refused.has(id)) return { charged: payload.euros };
    if (payload.order % 4 === 1) throw new NonRetryableError('The card has expired');
    if (attempt === maxAttempts) this.remember(id);
    throw new Error('502 Bad Gateway from the payment provider');
  }

  @JobHandler('backup', { connection: SEEDS, concurrency: 1 })
  @RecurringJob({ cron: '*/5 * * * *' }, { payload: { database: 'orders' } })
  async backup({ payload, signal }: Job<{ database: string }>) {
    await wait(900, undefined, { signal });
    return { file: `${payload.database}.dump` };
  }

  @JobHandler('export', { connection: SEEDS, concurrency: 1 })
  async export({ payload, signal }: Job<{ month: string }>) {
    await wait(400, undefined, { signal });
    return { file: `orders-${payload.month}.csv` };
  }

  private remember(id: string): void {
    this.refused.add(id);
    const [oldest] = this.refused;
    if (this.refused.size > REMEMBERED && oldest !== undefined) this.refused.delete(oldest);
  }
}
