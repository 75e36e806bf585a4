// What the history knows of a job, and how its rules report a violation.

/** Reports a violation: its rule, a colon, and what happened. */
export type Fault = (violation: string) => void;

/** A job of the run. */
export interface Known {
  queue: string;
  /** Fences of its claims whose handlers started. */
  fences: number[];
  acknowledged: boolean;
  maxAttempts: number;
  /** Fences of its claims whose handlers returned. */
  ok: number[];
  /** Its first failure ends it. */
  isFinal: boolean;
  /** Its own option sets `maxAttempts`, in any queue. */
  hasOwnLimit: boolean;
  /** No enqueue replaces it, and it waits for no other job. */
  isPlain: boolean;
  /** Somebody deleted it on purpose. */
  removed: boolean;
  broken: boolean;
  /** Its enqueue was refused. */
  refused: boolean;
  /** Set back to no attempts, by a redrive, a new run or a replacement. */
  reset: boolean;
  /** Redriven or run again. */
  again: boolean;
}
