/** The completions that were not simply written, by position from 0. */
export interface CompleteReply {
  /** The claim was no longer the caller's. */
  readonly lost: readonly number[];
  /**
   * The completions that were not written, because other jobs now wait for their end. They must be sent again as jobs
   * that are not plain.
   */
  readonly followed: readonly number[];
  /** True if the outbox got an end or a follow-up for another queue. */
  readonly hasEnds?: true;
}

/** The reply where each completion was written. */
export const ALL_COMPLETED: CompleteReply = { lost: [], followed: [] };
