import { Injectable } from '@nestjs/common';
import type { QueueStats } from 'nest-job-queue';
import { statsView, type StatsView } from './pattern-views.js';
import { WorkerPool } from './pool/worker-pool.js';
import { QueueAccess } from './queue-access.js';
import { TotalsSinceReset } from './totals.js';

/** The numbers of queue and pool together, as they are now. */
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

  async view(stats: QueueStats): Promise<StatsView> {
    return statsView(stats, await this.totals.since(stats.totals), this.pool);
  }
}
