import type { FromWorker } from '../../trouble/messages.js';
import type { CurrentJob } from './pool-event.js';

/** The pool's own knowledge of a worker process, which the process reported. */
export class Activity {
  job: CurrentJob | undefined;
  /** The job that it released when it was stopped. */
  released: CurrentJob | undefined;
  /** The number of jobs that it completed. */
  processed = 0;
  hangs = false;
  /** True if the button of the page killed it. */
  killed = false;
  /** True if it was asked to stop, for another in its place. */
  replaced = false;

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
