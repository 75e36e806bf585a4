import type { JobRecord } from '../../model/job.js';
import type { StoreCall } from '../store-call.js';

/** The filter of dead letters. */
export interface DeadLetterQuery {
  order: 'oldest' | 'newest';
  name?: string;
  error?: string;
  olderThanMs?: number;
  newerThanMs?: number;
  /** The last time of failure that counts, server time in ms. */
  untilMs?: number;
  /** The place to continue from; absent: from the beginning. */
  place?: DeadLetterPlace;
  /** The most bytes of a page, as in `list`. */
  mostBytes?: number;
}

/** The place of the dead letter that was read last. */
export interface DeadLetterPlace {
  at: string;
  id: string;
}

export interface DeadLetterSlice {
  /** Server time, in ms. */
  nowMs: number;
  /** The place to continue from; undefined if nothing is left. */
  next: DeadLetterPlace | undefined;
  /** The matches. `job` is there if it was requested and its hash exists. */
  found: { id: string; at: string; job?: JobRecord }[];
}

export interface DeadLetterVerbs {
  list(query: DeadLetterQuery, looks: number, most: number, withJobs: boolean): StoreCall<DeadLetterSlice>;
  /** @param letters with the time of failure as `list` said it; without: whenever it failed */
  discard(letters: readonly { id: string; at?: string }[]): StoreCall<number>;
  /** @param payload JSON that takes the place of the stored one */
  redrive(ids: readonly string[], payload?: string): StoreCall<number>;
}
