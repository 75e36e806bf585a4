import type { Timer } from '../../queue/runtime/clock.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { deliverNews } from '../../queue/operate/tend-batches.js';

/** How long the ends of several jobs gather before they are delivered, in ms. */
const GATHER_MS = 20;

/**
 * Delivers the ends of members to their batches in other queues, soon after the members ended here. If it fails, the
 * maintenance of the queue delivers them, and logs what keeps it from doing so.
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
