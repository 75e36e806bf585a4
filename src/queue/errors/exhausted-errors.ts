import { JobQueueError } from './errors.js';

/** The handler of a job threw a RateLimitedError more often than `maxRateLimitRetries` allows, so the job is a dead letter. */
export class RateLimitRetriesExhaustedError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'RATE_LIMIT_RETRIES_EXHAUSTED';

  constructor(
    /** The id of the job. */
    readonly jobId: string,
    /** The number of times its handler may throw a RateLimitedError. */
    readonly maxRateLimitRetries: number,
  ) {
    super(
      `Job ${jobId} met a rate limit more often than its maxRateLimitRetries of ${maxRateLimitRetries}. ` +
        'Redrive it once the limit is lifted, or raise maxRateLimitRetries.',
    );
  }
}

/** A job was snoozed more often than `maxSnoozes` allows, so it is a dead letter. */
export class SnoozesExhaustedError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'SNOOZES_EXHAUSTED';

  constructor(
    /** The id of the job. */
    readonly jobId: string,
    /** The number of times it may be snoozed. */
    readonly maxSnoozes: number,
  ) {
    super(
      `Job ${jobId} was snoozed more often than its maxSnoozes of ${maxSnoozes}. ` +
        'Redrive it once what it waits for is there, or raise maxSnoozes.',
    );
  }
}

/** Returns the error of a job that was released too often, by the reason of the release. */
export function exhaustedError(
  reason: 'rate_limited' | 'snooze',
  jobId: string,
  most: number,
): RateLimitRetriesExhaustedError | SnoozesExhaustedError {
  return reason === 'snooze'
    ? new SnoozesExhaustedError(jobId, most)
    : new RateLimitRetriesExhaustedError(jobId, most);
}
