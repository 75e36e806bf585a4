import {
  JobQueueError,
  ClaimLostError,
  isNonRetryable,
  JobCancelledError,
  RateLimitedError,
  retryAfterOf,
  retryDelayOf,
  RetryLaterError,
  isFrom,
} from '../../queue/errors/errors.js';
import { stateErrorIn } from '../../queue/errors/redis-errors.js';
import type { Job } from '../handlers/job.js';

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

/** The errors by which a handler says that its job is to run later. */
const LATER = [RetryLaterError, RateLimitedError];
/** The errors that end an attempt without a failure, if they name its own job. It is cancelled, or with another worker. */
const OF_ITS_JOB = [JobCancelledError, ClaimLostError];

/**
 * Returns the failure of an attempt, or of a call of a bulk handler: the timeout, if that came first. Undefined if it does
 * not fail.
 */
export function failureOfAttempt(jobs: readonly Job[], thrown: unknown): { error: unknown } | undefined {
  const [job] = jobs;
  const { signal, parked } = job!;
  const error: unknown = jobs.length === 1 && signal.aborted ? signal.reason : thrown;
  if (parked !== undefined && isFrom(error, parked)) {
    return undefined;
  }
  const refusal = refusalOf(job!, error);
  if (refusal) {
    return refusal;
  }
  const isNone =
    LATER.some((type) => error instanceof type) ||
    jobs.some((each) => isItsEnd(each, error)) ||
    (!isNonRetryable(error) && stateErrorIn(error) !== undefined);
  return isNone ? undefined : { error };
}

/** Returns why a snooze or a rest fails its attempt. Its limit may be none of the queue. */
function refusalOf(job: Job, error: unknown): { error: unknown } | undefined {
  try {
    retryDelayOf(error);
    const limit = retryAfterOf(error)?.limit;
    if (limit !== undefined) {
      job.checkLimit(limit);
    }
    return undefined;
  } catch (refusal) {
    return { error: refusal };
  }
}

/** Returns whether an error ends the attempt of a job. That of another job, such as one that the handler awaits, is a failure. */
function isItsEnd({ id, signal }: Job, error: unknown): boolean {
  if (OF_ITS_JOB.some((type) => error instanceof type)) return (error as { jobId: string }).jobId === id;
  return error instanceof ShutdownError && signal.aborted;
}
