import { JobQueueError } from './errors.js';

/** A queue in memory was asked for a feature that only Redis has. Nothing was done. */
export class NotInMemoryError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'NOT_IN_MEMORY';

  constructor(
    /** The missing feature, such as `audit trail`. */
    readonly what: string,
  ) {
    super(`A store in memory has no ${what}. Test code that needs it on Redis, such as with withRedis.`);
  }
}
