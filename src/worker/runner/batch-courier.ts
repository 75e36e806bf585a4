import type { Timer } from '../../queue/runtime/clock.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { deliverNews } from '../../queue/operate/tend-batches.js';

/** How long the ends of several jobs gather before they are delivered, in ms. */
const GATHER_MS = 20;

/**
 * Tells batches in other queues of the ends of their members soon after these have ended here. It may fail or come too late: then the
 * maintenance of the queue does it, and says what keeps it from it.
 */
export class BatchCourier {
  private timer: Timer | undefined;

  constructor(private readonly queue: JobQueue) {}

  /** There are news. */
  tell(): void {
    if (this.timer) {
      return;
    }
    const { clock } = this.queue.store;
    this.timer = clock.setTimeout(() => {
      this.timer = undefined;
      void deliverNews(this.queue).catch(() => undefined);
    }, GATHER_MS);
    this.timer.unref();
  }
}
