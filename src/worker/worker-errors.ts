import { JobQueueError } from '../queue/errors.js';

/** The reason of a signal whose attempt ran longer than its `timeoutMs`; the attempt has failed with it. */
export class HandlerTimeoutError extends JobQueueError {
  constructor(
    readonly jobId: string,
    readonly timeoutMs: number,
  ) {
    super(`Job ${jobId} ran longer than its timeoutMs of ${timeoutMs} ms.`);
  }
}

/** The reason of a signal whose worker is being stopped; the job is released, its attempt uncounted. */
export class ShutdownError extends JobQueueError {
  constructor() {
    super('The worker is being stopped.');
  }
}
