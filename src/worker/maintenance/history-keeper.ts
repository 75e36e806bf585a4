import { limitOf } from '../../queue/runtime/bounds.js';
import type { JobQueue } from '../../queue/job-queue.js';

/** The time without maintenance, in ms, after which a fleet that maintains each few seconds was away. */
const LEAST_GAP_MS = 180_000;

/** Closes each minute of the histories, once for the whole fleet. A second replica changes nothing. */
export class HistoryKeeper {
  /** The end of each queue's open minute, by the monotonic clock. */
  private readonly dueAt = new WeakMap<JobQueue, number>();

  /**
   * @param intervalMs how often the caller maintains its queues
   * @param version that of the app; '' for none
   */
  constructor(
    private readonly intervalMs: number,
    private readonly version: string,
  ) {}

  /** Closes the minute of a queue once it is over. Costs one call a minute, and two more in the closing process. */
  async keep(queue: JobQueue): Promise<void> {
    const { clock } = queue.store;
    if (!queue.options.history || clock.monotonic() < (this.dueAt.get(queue) ?? -Infinity)) {
      return;
    }
    const limit = limitOf(this.intervalMs);
    const leftMs = await queue.exec((calls) => calls.history.reportVersion(this.version), limit);
    this.dueAt.set(queue, clock.monotonic() + (leftMs > 0 ? leftMs : await this.close(queue)));
  }

  private async close(queue: JobQueue): Promise<number> {
    const limit = limitOf(this.intervalMs);
    const { pending, processing, oldestPendingAgeMs } = await queue.exec((calls) => calls.stats(), limit);
    const reading = { pending, processing, oldestPendingAgeMs, version: this.version };
    const gapMs = Math.max(LEAST_GAP_MS, 3 * this.intervalMs);
    return queue.exec((calls) => calls.history.closeMinute({ ...reading, gapMs }), limit);
  }
}
