/** What became of completions that were not simply written, by their positions from 0. */
export interface CompleteAnswer {
  /** The claim was no longer the caller's. */
  readonly lost: readonly number[];
  /** Not written yet: other jobs came to wait for its end while it ran, so that it is to be completed again as a job that is not plain. */
  readonly followed: readonly number[];
}

/** The answer where each completion was written. */
export const ALL_COMPLETED: CompleteAnswer = { lost: [], followed: [] };
