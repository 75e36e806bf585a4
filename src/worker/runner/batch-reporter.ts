import type { Timer } from '../../queue/runtime/clock.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { deliverEnds, maintainBatches } from '../../queue/operate/maintain-batches.js';

/** The time ends of jobs are gathered before one call handles them, in ms. */
const GATHER_MS = 20;

/**
 * Handles ends of batch members soon after they occur here. Delivers them to batches in other queues, and cancels the
 * other members of a stopped batch. If it fails, the maintenance of the queue does it and logs the error.
 */
export class BatchReporter {
  private timer: Timer | undefined;
  private stopsSome = false;

  constructor(private readonly queue: JobQueue) {}

  /** Called when a member may have put an end or a follow-up into the outbox, or stops its batch. */
  notify(stopsBatch = false): void {
    this.stopsSome ||= stopsBatch;
    if (this.timer) {
      return;
    }
    const { clock } = this.queue.store;
    this.timer = clock.setTimeout(() => {
      this.timer = undefined;
      const follow = this.stopsSome ? maintainBatches : deliverEnds;
      this.stopsSome = false;
      void follow(this.queue).catch(() => undefined);
    }, GATHER_MS);
    this.timer.unref();
  }
}
