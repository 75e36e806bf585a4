import { JobQueueError } from './errors.js';

/** The files of the package changed after this process had loaded a part of them. Calls that need the rest fail. */
export class FilesReplacedError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'FILES_REPLACED';

  constructor(found: string, options?: ErrorOptions) {
    super(`The files of nest-job-queue were replaced under this process; restart it. Found ${found}.`, options);
  }
}
