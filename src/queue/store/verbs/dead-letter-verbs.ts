import type { JobRecord } from '../../model/job.js';
import type { StoreCall } from '../store-call.js';

/** Which dead letters are meant. */
export interface DeadLetterQuery {
  order: 'oldest' | 'newest';
  name?: string;
  error?: string;
  olderThanMs?: number;
  newerThanMs?: number;
  /** The last time of failure that counts, server time in ms. */
  untilMs?: number;
  /** Where to go on; absent: from the beginning. */
  place?: DeadLetterPlace;
  /** As of `list`. */
  mostBytes?: number;
}

/** A place among the dead letters: the one that was looked at last. */
export interface DeadLetterPlace {
  at: string;
  id: string;
}

export interface DeadLetterSlice {
  /** Server time, in ms. */
  nowMs: number;
  /** Where to go on; undefined when nothing is left. */
  next: DeadLetterPlace | undefined;
  /** `job` where it was asked for, and its hash is there. */
  found: { id: string; at: string; job?: JobRecord }[];
}

export interface DeadLetterVerbs {
  list(query: DeadLetterQuery, looks: number, most: number, withJobs: boolean): StoreCall<DeadLetterSlice>;
  /** @param letters with the time of failure as `list` said it; without: whenever it failed */
  discard(letters: readonly { id: string; at?: string }[]): StoreCall<number>;
}
