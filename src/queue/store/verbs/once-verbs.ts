// The verbs of senders that keep jobs elsewhere, such as in rows of a database; see lua/once/enqueue.lua.
import type { EncodedJob, EnqueueRejected, EnqueueReply } from '../enqueue-call.js';
import type { SealedError } from '../../codec/sealed.js';
import type { StoreCall } from '../store-call.js';

/** A job that its sender keeps elsewhere. */
export interface OnceEntry {
  /** Identifies the entry among all of its source. It is never used for another entry. */
  key: string;
  job: EncodedJob;
  /** What the job had elsewhere. Absent if it has never run. */
  ran?: { attempts: number; errors: number; crashes: number };
  /** True if the sender keeps an entry whose id is known: it gets no mark. */
  mustBeNew?: true;
}

/** A dead letter that its sender keeps elsewhere, such as a failed job of another library. */
export interface DeadEntry {
  /** As of an OnceEntry. */
  key: string;
  job: EncodedJob;
  ran: { attempts: number; errors: number; crashes: number };
  /** The last error of the job, and the time of that attempt there, in ms. */
  failure: { error: SealedError; kind?: string; startedAt: number; endedAt: number };
}

/** The outcome of a dead letter. `existing`: its id is known. `full`: the cap would delete one. Neither gets a mark. */
export type DeadReply = { outcome: 'new' | 'known' | 'existing' } | { outcome: 'full'; cap: number };

/**
 * The outcome of an entry: `known` if an earlier call added its job, or why nothing was done. `held`: an earlier entry of
 * its group was not added. `broken`: the script failed at its content, and added nothing of it.
 */
export type OnceReply =
  | EnqueueReply
  | { outcome: 'known' | 'held' }
  | { outcome: 'refused'; reason: EnqueueRejected }
  | { outcome: 'broken'; message: string };

/** The replies, or the fence of another sender, which has taken over. */
export type OnceReplies<Reply = OnceReply> = { replies: Reply[] } | { newerFence: number };

/** The senders of one source share its entries. One of them sends at a time, with a fence larger than those before. */
export interface OnceSender {
  source: string;
  fence: number;
  /** True if the bounds of this process do not apply: they are those of another queue. */
  isUnbounded?: true;
}

export interface OnceVerbs {
  /** Adds the job of each entry, unless an earlier call did. */
  enqueue(sender: OnceSender, entries: readonly OnceEntry[]): StoreCall<OnceReplies>;
  /** Adds each dead letter, unless an earlier call did. */
  addDeadLetters(sender: OnceSender, entries: readonly DeadEntry[]): StoreCall<OnceReplies<DeadReply>>;
  /** Forgets the marks of entries that are gone for good. Returns how many there were. */
  forget(source: string, keys: readonly string[]): StoreCall<number>;
  /** Returns the keys of the oldest marks. */
  marks(source: string, limit: number): StoreCall<string[]>;
}
