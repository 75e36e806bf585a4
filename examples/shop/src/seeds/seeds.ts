import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { InjectJobQueueService, type JobQueueService } from 'nest-job-queue';
import { backdate, writeHistory, type Minute } from './hour-of-history.js';
import { SEEDED_QUEUES, SEEDS, type SeededQueue } from './seeded-queues.js';
import type { Payment } from './seeded-handlers.js';

const PRODUCTS = ['mug', 'poster', 'lamp', 'chair', 'carpet', 'kettle', 'clock', 'vase'];
const CUSTOMERS = ['Ada', 'Grace', 'Edsger', 'Barbara', 'Alan', 'Frances', 'Tony', 'Radia'];
/** The interval of new jobs in the queues that live on, in ms. */
const EVERY_MS = 3_000;
const NEWSLETTERS = 240;
const STUCK_FOR_MS = 18 * 60_000;

const QUIET: Minute = {
  enqueued: 0,
  completed: 0,
  failed: 0,
  retried: 0,
  pending: 0,
  processing: 0,
  oldestMs: 0,
  waitMs: 4,
  runMs: 90,
};

/** The last hour of each queue, by minutes ago. */
const HOURS: Record<SeededQueue, (ago: number) => Minute> = {
  'search-index': (ago) => {
    const jobs = Math.round(38 + 14 * Math.sin(ago / 7) + 6 * Math.sin(ago / 2.3));
    return { ...QUIET, enqueued: jobs, completed: jobs, processing: jobs > 45 ? 1 : 0, runMs: 85 };
  },
  payment: (ago) => {
    const jobs = Math.round(16 + 4 * Math.sin(ago / 5));
    const failed = ago > 22 ? (ago % 9 === 0 ? 1 : 0) : Math.round(jobs * 0.7);
    return { ...QUIET, enqueued: jobs, completed: jobs - failed, failed, retried: failed, waitMs: 9, runMs: 130 };
  },
  newsletter: (ago) => {
    const isStuck = ago * 60_000 <= STUCK_FOR_MS;
    const jobs = Math.round(NEWSLETTERS / 18);
    const waiting = isStuck ? Math.round(NEWSLETTERS - (ago - 1) * jobs) : 0;
    return {
      ...QUIET,
      enqueued: jobs,
      completed: isStuck ? 0 : jobs,
      pending: Math.max(0, waiting),
      oldestMs: isStuck ? STUCK_FOR_MS - (ago - 1) * 60_000 : 0,
    };
  },
  backup: (ago) => (ago % 5 === 0 ? { ...QUIET, enqueued: 1, completed: 1, waitMs: 2, runMs: 900 } : QUIET),
  export: (ago) => (ago > 12 ? { ...QUIET, enqueued: 3, completed: 3, runMs: 400 } : { ...QUIET, pending: 6 }),
};

/** Fills the seeded queues once: an hour of history, and jobs in every condition. Then a few jobs come all the time. */
@Injectable()
export class Seeds implements OnModuleDestroy {
  private readonly logger = new Logger(Seeds.name);
  private timer: NodeJS.Timeout | undefined;
  private order = 100;

  constructor(@InjectJobQueueService(SEEDS) private readonly jobs: JobQueueService) {}

  /** Fills them. A failure is one line of the log, because the shop is of use without them. */
  async plant(): Promise<void> {
    try {
      for (const name of SEEDED_QUEUES) await writeHistory(this.jobs.queue(name), HOURS[name]);
      await this.fill();
      this.timer = setInterval(() => void this.goOn(), EVERY_MS).unref();
    } catch (error) {
      this.logger.warn(`Could not seed the dashboard: ${(error as Error).message}`);
    }
  }

  onModuleDestroy(): void {
    clearInterval(this.timer);
  }

  private async fill(): Promise<void> {
    const payments = Array.from({ length: 48 }, () => ({ payload: this.payment() }));
    await this.jobs.enqueueMany('payment', payments);
    await this.jobs.pause('export', { by: 'grace', reason: 'the file server moves today' });
    const months = ['01', '02', '03', '04', '05', '06'];
    await this.jobs.enqueueMany(
      'export',
      months.map((month) => ({ payload: { month: `2026-${month}` } })),
    );
    const letters = Array.from({ length: NEWSLETTERS }, (_, i) => ({
      payload: { to: `reader-${i + 1}@example.com`, issue: 12 },
    }));
    const enqueued = await this.jobs.enqueueMany('newsletter', letters);
    await backdate(this.jobs.queue('newsletter'), enqueued, STUCK_FOR_MS);
  }

  private async goOn(): Promise<void> {
    const product = PRODUCTS[this.order % PRODUCTS.length]!;
    try {
      await this.jobs.enqueueMany('search-index', [{ payload: { product } }, { payload: { product } }]);
      await this.jobs.enqueue('payment', this.payment());
    } catch {
      // Redis is away: the page says so, and the next turn tries again.
    }
  }

  private payment(): Payment {
    const order = this.order++;
    return { order, customer: CUSTOMERS[order % CUSTOMERS.length]!, euros: 12 + ((order * 7) % 80) };
  }
}
