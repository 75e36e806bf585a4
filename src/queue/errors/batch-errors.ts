import { JobQueueError } from './errors.js';

/** Thrown where a job is to join a batch that was sealed. */
export class BatchSealedError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'BATCH_SEALED';

  constructor(
    /** The id of the batch. */
    readonly batch: string,
  ) {
    super(`Batch ${batch} is sealed, so no job can join it. Add all jobs before seal(), or create another batch.`);
  }
}

/** Thrown for a batch that is not known: it was never created, was not sealed for a week, or ended more than a week ago. */
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

/** Thrown where members of a batch are still open when a wait for them ends. The batch goes on. */
export class BatchTimeoutError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'BATCH_TIMEOUT';

  constructor(
    /** The id of the batch. */
    readonly batch: string,
    /** The time that was waited, in ms. */
    readonly timeoutMs: number,
    open: number,
  ) {
    super(`Batch ${batch} has ${open} open members after ${timeoutMs} ms; it goes on.`);
  }
}
