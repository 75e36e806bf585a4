import { setTimeout as wait } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { JobHandler, NonRetryableError, RecurringJob, type Job } from 'nest-job-queue';

export interface Order {
  order: number;
  customer: string;
}

/** The incident's queues whose jobs fail, some of them by a payment service that is down. */
const FAILURES: Record<string, (order: number) => Error | undefined> = {
  webhook: (order) => {
    if (order % 10 === 0) return undefined;
    if (order % 10 === 1) return new NonRetryableError('410 Gone');
    if (order % 4 === 2) return refused(`Could not deliver evt_${idOf(order)} to tenant-${order % 97}`);
    const text = order % 4 === 3 ? 'Timeout after 5000 ms' : '502 Bad Gateway from hooks.example.com';
    return new Error(text, { cause: new Error('The gateway restarts') });
  },
  payment: (order) => {
    if (order % 3 === 0) return new NonRetryableError('The card has expired');
    return order % 3 === 1 ? refused(`Payment ch_${idOf(order)} of order ${order} failed`) : undefined;
  },
  invoice: (order) => (order % 10 === 0 ? refused(`No receipt for invoice R-${order}`) : undefined),
};

/** Returns why a job of a queue fails. Undefined for one that succeeds. */
export function failureOf(queue: string, order: number): Error | undefined {
  return FAILURES[queue]?.(order);
}

/** Returns the error of a service that is down. Each text is another one, and the cause is always the same. */
function refused(text: string): Error {
  const cause = Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:443'), { code: 'ECONNREFUSED' });
  return new Error(text, { cause });
}

function idOf(order: number): string {
  return `3Pq${(7_919 * (order + 1)).toString(36)}XkZ`;
}

/** The work of the incident's queues, but for the queue that only another app knows. */
@Injectable()
export class IncidentHandlers {
  /** Ignores its signal, as a call without a timeout does. So its slots are lost one after another. */
  @JobHandler('video', { concurrency: 3, timeoutMs: 1_000, maxAttempts: 3, backoff: 600_000 })
  video() {
    return new Promise<never>(() => undefined);
  }

  @JobHandler('email', { concurrency: 2 })
  email({ signal }: Job<Order>) {
    return wait(60, 'sent', { signal });
  }

  @JobHandler('import', { concurrency: 4, groups: { maxRunning: 2 } })
  import({ signal }: Job<Order>) {
    return wait(200, 'imported', { signal });
  }

  @JobHandler('sms', { concurrency: 4, rateLimit: { limit: 2, periodMs: 1_000 } })
  sms({ signal }: Job<Order>) {
    return wait(40, 'sent', { signal });
  }

  @JobHandler('webhook', { concurrency: 4, maxAttempts: 2, backoff: 1_000 })
  async webhook({ payload, signal }: Job<Order>) {
    await wait(120, undefined, { signal });
    return failing('webhook', payload, 'taken');
  }

  @JobHandler('payment', { concurrency: 2, maxAttempts: 1 })
  async payment({ payload, signal }: Job<Order>) {
    await wait(120, undefined, { signal });
    return failing('payment', payload, 'charged');
  }

  @JobHandler('export', { concurrency: 1 })
  export({ signal }: Job<Order>) {
    return wait(300, 'exported', { signal });
  }

  @JobHandler('reminder')
  reminder({ signal }: Job<Order>) {
    return wait(30, 'sent', { signal });
  }

  @JobHandler('search-index', { concurrency: 4 })
  index({ signal }: Job<Order>) {
    return wait(20, 'indexed', { signal });
  }

  @JobHandler('thumbnail', { concurrency: 4 })
  thumbnail({ signal }: Job<Order>) {
    return wait(80, 'drawn', { signal });
  }

  @JobHandler('invoice', { maxAttempts: 1 })
  async invoice({ payload, signal }: Job<Order>) {
    await wait(90, undefined, { signal });
    return failing('invoice', payload, 'printed');
  }

  @JobHandler('report')
  report({ signal }: Job) {
    return wait(150, 'written', { signal });
  }

  @JobHandler('backup', { concurrency: 1 })
  @RecurringJob({ cron: '*/5 * * * *' }, { payload: { database: 'orders' } })
  backup({ signal }: Job<{ database: string }>) {
    return wait(400, 'orders.dump', { signal });
  }

  @JobHandler('cleanup', { concurrency: 1 })
  @RecurringJob({ cron: '0 4 * * *' }, { payload: { days: 30 } })
  cleanup({ signal }: Job<{ days: number }>) {
    return wait(10, 'clean', { signal });
  }
}

function failing(queue: string, { order }: Order, result: string): string {
  const failure = failureOf(queue, order);
  if (failure) throw failure;
  return result;
}
