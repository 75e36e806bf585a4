import { JobQueueError, NonRetryableError, RetryLaterError } from './errors.js';
import { show } from './show.js';

/** Why a job takes no signal. */
export type SignalRefusal = 'ended' | 'moved' | 'late' | 'full' | 'other-name';

/** A job took no signal, and nothing was written. Its `reason` says why. */
export class SignalRefusedError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'SIGNAL_REFUSED';

  constructor(
    /** The id of the job. */
    readonly jobId: string,
    /** The name of the signal. */
    readonly signal: string,
    /**
     * `ended`: the job has completed, failed or was cancelled. `moved`: it is at another place now. `late`: its wait for the signal is over. `full`: it has as many
     * signals as a job may have. `other-name`: it is no job of the given definition.
     */
    readonly reason: SignalRefusal,
    /** The reason and the next step, in sentences. */
    why: string,
  ) {
    super(`Job ${jobId} takes no signal ${show(signal)}: ${why}`);
  }
}

/** Thrown by `job.waitFor`: the signal did not come in time. It is not retried; catch it, or set a `timeoutValue`. */
export class SignalTimeoutError extends NonRetryableError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'SIGNAL_TIMEOUT';

  constructor(
    /** The id of the job. */
    readonly jobId: string,
    /** The name of the signal. */
    readonly signal: string,
  ) {
    super(`Job ${jobId} got no signal ${show(signal)} in time.`);
  }
}

/**
 * Ends an attempt whose job waits for a signal, or sleeps. It is no failure, and uses no attempt. Do not catch it: what the
 * handler does afterwards has no effect on the job.
 */
export class JobWaitsError extends RetryLaterError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'JOB_WAITS';

  constructor(
    /** The id of the job. */
    readonly jobId: string,
    /** The name of the signal, or of the sleep. */
    readonly waitsFor: string,
  ) {
    super(0, `Job ${jobId} waits for ${show(waitsFor)}.`);
  }
}

/** The most causes of an error that are looked at. */
const MOST_CAUSES = 10;

/** Returns whether an error is this one, or has it as a cause. */
export function isFrom(error: unknown, origin: Error): boolean {
  let each = error;
  for (let i = 0; i < MOST_CAUSES && each instanceof Error; i++) {
    if (each === origin) return true;
    each = each.cause;
  }
  return false;
}
