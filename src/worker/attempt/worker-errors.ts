import { JobQueueError } from '../../queue/errors/errors.js';

/** The reason of a signal whose attempt ran longer than its `timeoutMs`; the attempt has failed with it. */
export class HandlerTimeoutError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'HANDLER_TIMEOUT';

  constructor(
    /** The id of the job. */
    readonly jobId: string,
    /** The handler's time limit, in ms. */
    readonly timeoutMs: number,
  ) {
    super(`Job ${jobId} ran longer than its timeoutMs of ${timeoutMs} ms.`);
  }
}

/** The reason of a signal whose worker is being stopped; the job is released, its attempt uncounted. */
export class ShutdownError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'SHUTDOWN';

  constructor() {
    super('The worker is being stopped.');
  }
}

/** The thread of a job ended under it: by `process.exit`, an uncaught error (`cause`), or no memory left. The attempt failed. */
export class ThreadCrashedError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'THREAD_CRASHED';

  constructor(
    /** The id of the job. */
    readonly jobId: string,
    /** The exit code of the thread. */
    readonly exitCode: number,
    cause: unknown,
  ) {
    const { name, message } = (cause ?? {}) as Partial<Error>;
    const why = message === undefined ? '.' : `: ${name}: ${message}`;
    super(`The thread of job ${jobId} ended with code ${exitCode} before the job did${why}`, { cause });
  }
}

/** A job in a thread continued after its signal aborted (`cause`), and its thread was terminated. */
export class ThreadTerminatedError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'THREAD_TERMINATED';

  constructor(
    /** The id of the job. */
    readonly jobId: string,
    /** The time that the handler had to end, in ms. */
    readonly graceMs: number,
    cause: unknown,
  ) {
    super(`Job ${jobId} ran for ${graceMs} ms after its signal aborted; its thread was terminated.`, { cause });
  }
}
