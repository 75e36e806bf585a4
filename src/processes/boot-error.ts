import { JobQueueError } from '../queue/errors/errors.js';
import type { ReportedError } from './messages.js';

/** A worker process ended before its worker ran, as often in a row as `maxBootFailures` allows; all were stopped. */
export class WorkerBootError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'WORKER_BOOT';

  constructor(
    /** Which one, such as `worker-2`. */
    readonly processName: string,
    /** How often it was started in vain. */
    readonly tries: number,
    /** How the last try ended, such as `ended with code 1`. */
    readonly outcome: string,
    /** What the last try failed with, where it could say so. */
    readonly error?: ReportedError,
  ) {
    const why = error ? `${error.name}: ${error.message.replace(/\.$/, '')}` : 'its output says why';
    super(`${processName} did not come up in ${tries} tries; the last one ${outcome}: ${why}.`);
  }
}
