import type { JobQueue } from '../../queue/job-queue.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import { SHORTEST_TRIP_MS } from '../../queue/runtime/bounds.js';
import { within } from '../../queue/runtime/within.js';
import type { ReclaimedJob } from '../../queue/store/call-outcomes.js';
import { UNMET } from '../../queue/store/claim-refusal.js';
import type { FailureLog } from '../reports/failure-log.js';
import type { WorkerEventListener } from '../reports/worker-event.js';
import { emitEnds, type SweptJob } from './sweep-events.js';

/** Reports jobs that maintenance has moved or ended, because their workers cannot: in the log, and as worker events. */
export class EndReports {
  constructor(
    private readonly logger: JobQueueLogger,
    readonly failures: FailureLog,
    private readonly emit?: WorkerEventListener,
  ) {}

  async reclaimed(queue: JobQueue, reclaimed: readonly ReclaimedJob[]): Promise<void> {
    reclaimed.forEach((job) => this.failures.workerLost(job, queue.name));
    await this.emitEnds(queue, reclaimed);
  }

  async unmet(queue: JobQueue, ids: readonly string[]): Promise<void> {
    ids.forEach((id) => this.failures.unmet(id, queue.name));
    await this.emitEnds(
      queue,
      ids.map((id) => ({ id, status: 'failed' })),
      UNMET,
    );
  }

  /** Emits the ends. A failed event must not stop the maintenance. */
  private async emitEnds(queue: JobQueue, ended: readonly SweptJob[], cause?: string): Promise<void> {
    if (this.emit && ended.length > 0) {
      try {
        await within(queue.store.clock, SHORTEST_TRIP_MS, emitEnds(queue, ended, this.emit, cause), () => {
          throw new Error(`no answer within ${SHORTEST_TRIP_MS} ms`);
        });
      } catch (error) {
        this.logger.warn(
          `Could not read ended jobs of queue "${queue.name}", so listeners miss their ends: ${(error as Error).message}`,
        );
      }
    }
  }
}
