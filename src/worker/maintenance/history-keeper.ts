import { limitOf } from '../../queue/runtime/bounds.js';
import type { JobQueue } from '../../queue/job-queue.js';

/** The time without maintenance, in ms, after which a fleet that maintains each few seconds was away. */
const LEAST_GAP_MS = 180_000;

/** Closes each minute of the histories, once for the whole fleet. A second replica changes nothing. */
export class HistoryKeeper {
  /** The end of each queue's open minute, by the monotonic clock. */
  private readonly dueAt = new WeakMap<JobQueue, number>();
  /** The queues that were kept since their last minute was closed for good. */
  private readonly open = new WeakSet<JobQueue>();

  /**
   * @param intervalMs how often the caller maintains its queues
   * @param version that of the app; '' for none
   */
  constructor(
    private readonly intervalMs: number,
    private readonly version: string,
  ) {}

  /** Returns the time between two closed minutes that counts as an outage, in ms. */
  get gapMs(): number {
    return Math.max(LEAST_GAP_MS, 3 * this.intervalMs);
  }

  /** Closes the minute of a queue once it is over. Costs one call a minute, and two more in the closing process. */
  async keep(queue: JobQueue, begins = true): Promise<void> {
    this.open.add(queue);
    if (!this.isDue(queue)) {
      return;
    }
    const limit = limitOf(this.intervalMs);
    const leftMs = await queue.exec(
      (calls) => calls.history.reportVersion({ version: this.version, begins }),
      limit,
    );
    this.dueAt.set(queue, queue.store.clock.monotonic() + (leftMs > 0 ? leftMs : await this.close(queue)));
  }

  /**
   * Closes the minute in which a queue was kept last. After that an idle queue costs nothing. A queue that was purged with
   * all its keys gets none.
   */
  async keepOpen(queue: JobQueue): Promise<void> {
    if (this.isOpen(queue)) {
      await this.keep(queue, false);
      this.open.delete(queue);
    }
  }

  /** Returns whether the minute in which a queue was kept last is over, and not closed. */
  isOpen(queue: JobQueue): boolean {
    return this.open.has(queue) && this.isDue(queue);
  }

  private isDue(queue: JobQueue): boolean {
    return queue.options.history && queue.store.clock.monotonic() >= (this.dueAt.get(queue) ?? -Infinity);
  }

  private async close(queue: JobQueue): Promise<number> {
    const limit = limitOf(this.intervalMs);
    const { pending, processing, oldestPendingAgeMs } = await queue.exec((calls) => calls.stats(), limit);
    const reading = { pending, processing, oldestPendingAgeMs, version: this.version };
    return queue.exec((calls) => calls.history.closeMinute({ ...reading, gapMs: this.gapMs }), limit);
  }
}
