import {
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
import { ShutdownError } from './worker-errors.js';
import type { Job } from '../handlers/job.js';

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
