import { JobQueueError } from './errors.js';

/** Thrown when a job joins a sealed batch. */
export class BatchSealedError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'BATCH_SEALED';

  constructor(
    /** The id of the batch. */
    readonly batch: string,
  ) {
    super(
      `Batch ${batch} is sealed, so no job can join it. Add all jobs before seal(), add them by a member that still runs (job.batch.add), or create another batch.`,
    );
  }
}

/** Thrown for an unknown batch: never created, unsealed for a week, or ended more than a week ago. */
export class BatchNotFoundError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'BATCH_NOT_FOUND';

  constructor(
    /** The id of the batch. */
    readonly batch: string,
  ) {
    super(
      `Batch ${batch} is not known. It was never created in this queue, was not sealed within a week, or ended more than a week ago.`,
    );
  }
}

/** Thrown if members of a batch are still open at the end of a wait for them. The batch continues. */
export class BatchTimeoutError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'BATCH_TIMEOUT';

  constructor(
    /** The id of the batch. */
    readonly batch: string,
    /** The duration of the wait, in ms. */
    readonly timeoutMs: number,
    open: number,
    isSealed = true,
  ) {
    const state = isSealed ? `has ${open} open members` : `is not sealed, and has ${open} open members`;
    super(`Batch ${batch} ${state} after ${timeoutMs} ms; the batch continues.`);
  }
}
