import { setTimeout as wait } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { JobHandler, NonRetryableError, RecurringJob, type Job } from 'nest-job-queue';

export interface Order {
  order: number;
  customer: string;
}

const REFUSALS = [
  '502 Bad Gateway from hooks.example.com',
  '502 Bad Gateway from hooks.example.com',
  'connect ECONNREFUSED 10.0.0.7:443',
  'Timeout after 5000 ms',
];

/** Returns why a webhook fails, or undefined for one that is taken. */
export function refusalOf(order: number): Error | undefined {
  if (order % 10 === 0) return undefined;
  return order % 10 === 1
    ? new NonRetryableError('410 Gone')
    : new Error(REFUSALS[order % REFUSALS.length], { cause: new Error('The gateway restarts') });
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
    const refusal = refusalOf(payload.order);
    if (refusal) throw refusal;
    return 'taken';
  }

  @JobHandler('payment', { concurrency: 2 })
  async payment({ payload, signal }: Job<Order>) {
    await wait(120, undefined, { signal });
    if (payload.order % 3 === 0) throw new NonRetryableError('The card has expired');
    return 'charged';
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

  @JobHandler('invoice')
  invoice({ signal }: Job<Order>) {
    return wait(90, 'printed', { signal });
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
