import type { FromWorker } from '../../trouble/messages.js';
import type { CurrentJob } from './pool-event.js';

/** What the pool knows of a worker process beside its status: what the process said itself. */
export class Activity {
  job: CurrentJob | undefined;
  /** What it gave back when it was stopped. */
  released: CurrentJob | undefined;
  /** How many jobs it completed. */
  processed = 0;
  hangs = false;
  /** By the button of the page. */
  killed = false;

  hear(message: FromWorker): void {
    if (message.type === 'began') {
      const { id, name, label, attempt } = message;
      // A report is made beside the jobs of the page; the page shows these.
      this.job = { id, name, label, attempt, since: Date.now() };
    } else if (message.type === 'hangs') {
      this.hangs = true;
    } else {
      if (message.outcome === 'released') this.released = this.job;
      this.job = undefined;
      this.processed += message.outcome === 'completed' ? 1 : 0;
    }
  }
}
