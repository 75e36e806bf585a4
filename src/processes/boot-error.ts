import { JobQueueError } from '../queue/errors/errors.js';
import type { ReportedError } from './messages.js';

/** A worker process ended before its worker ran, as often in a row as `maxBootFailures` allows; all were stopped. */
export class WorkerBootError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'WORKER_BOOT';

  constructor(
    /** The name of the process, such as `worker-2`. */
    readonly processName: string,
    /** The number of failed starts. */
    readonly tries: number,
    /** The end of the last try, such as `ended with code 1`. */
    readonly outcome: string,
    /** The error of the last try, if it reported one. */
    readonly error?: ReportedError,
  ) {
    const why = error ? `${error.name}: ${error.message.replace(/\.$/, '')}` : 'its output says why';
    super(`${processName} failed to boot ${tries} times; the last process ${outcome}: ${why}.`);
  }
}
