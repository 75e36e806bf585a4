import { JobQueueError } from '../../queue/errors/errors.js';

/** The reason of a signal whose attempt ran longer than its `timeoutMs`; the attempt has failed with it. */
export class HandlerTimeoutError extends JobQueueError {
  static override readonly code: string = 'HANDLER_TIMEOUT';

  constructor(
    readonly jobId: string,
    readonly timeoutMs: number,
  ) {
    super(`Job ${jobId} ran longer than its timeoutMs of ${timeoutMs} ms.`);
  }
}

/** The reason of a signal whose worker is being stopped; the job is released, its attempt uncounted. */
export class ShutdownError extends JobQueueError {
  static override readonly code: string = 'SHUTDOWN';

  constructor() {
    super('The worker is being stopped.');
  }
}

/** The thread of a job ended under it: by `process.exit`, an uncaught error (`cause`), or no memory left. The attempt failed. */
export class ThreadCrashedError extends JobQueueError {
  static override readonly code: string = 'THREAD_CRASHED';

  constructor(
    readonly jobId: string,
    readonly exitCode: number,
    cause: unknown,
  ) {
    const { name, message } = (cause ?? {}) as Partial<Error>;
    const why = message === undefined ? '.' : `: ${name}: ${message}`;
    super(`The thread of job ${jobId} ended with code ${exitCode} before the job did${why}`, { cause });
  }
}

/** A job in a thread went on after its signal aborted (`cause`), and its thread was terminated. */
export class ThreadTerminatedError extends JobQueueError {
  static override readonly code: string = 'THREAD_TERMINATED';

  constructor(
    readonly jobId: string,
    readonly graceMs: number,
    cause: unknown,
  ) {
    super(`Job ${jobId} went on for ${graceMs} ms after its signal aborted; its thread was terminated.`, { cause });
  }
}
