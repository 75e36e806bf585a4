import { JobQueueError } from './errors.js';

/** The handler of a job threw a RateLimitedError more often than `maxRests` allows, so the job is a dead letter. */
export class RestsExhaustedError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'RESTS_EXHAUSTED';

  constructor(
    /** The id of the job. */
    readonly jobId: string,
    /** The number of times its handler may throw a RateLimitedError. */
    readonly maxRests: number,
  ) {
    super(
      `Job ${jobId} met a rate limit more often than its maxRests of ${maxRests}. ` +
        'Redrive it once the limit is lifted, or raise maxRests.',
    );
  }
}
