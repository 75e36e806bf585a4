import { Injectable, ServiceUnavailableException } from '@nestjs/common';
import type { QueueStats } from 'nest-job-queue';
import { statsView, type StatsView } from './pattern-views.js';
import { WorkerPool } from './pool/worker-pool.js';
import { QueueAccess } from '../jobs/queue-access.js';
import { TotalsSinceReset } from './totals.js';

/** The current figures of queue and pool together. */
@Injectable()
export class StatsService {
  constructor(
    private readonly queue: QueueAccess,
    private readonly totals: TotalsSinceReset,
    private readonly pool: WorkerPool,
  ) {}

  async now(): Promise<StatsView> {
    return this.view(await this.queue.stats());
  }

  /**
   * Runs `rest`, which needs Redis, after an action that the sentence `done` describes. Returns the figures.
   *
   * @throws ServiceUnavailableException that says what was done nevertheless
   */
  async after(done: string, rest?: () => Promise<void>): Promise<StatsView> {
    try {
      await rest?.();
      return await this.now();
    } catch (error) {
      if (!(error instanceof ServiceUnavailableException)) throw error;
      throw new ServiceUnavailableException(`${done} ${error.message}`);
    }
  }

  async view(stats: QueueStats): Promise<StatsView> {
    return statsView(stats, await this.totals.since(stats.totals), this.pool);
  }
}
