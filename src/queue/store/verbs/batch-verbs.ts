// The verbs of batches with a follow-up; see lua/batch.
import type { BatchPage, BatchRecord, FollowUpKind, JobReference, MemberEnd } from '../../model/batch.js';
import type { Sealed } from '../../codec/sealed.js';
import type { AskedOptions } from '../asked-options.js';
import type { EncodedJob } from '../enqueue-call.js';
import type { StoreCall } from '../store-call.js';

/** A follow-up in its stored form. */
export interface EncodedFollowUp {
  kind: FollowUpKind;
  /** Its queue and its id. Absent for the queue of the batch. */
  elsewhere?: JobReference;
  name: string;
  /** JSON. */
  payload: Sealed;
  options: AskedOptions;
}

/** A batch in its encoded form. */
export interface EncodedBatch {
  id: string;
  /** True if the caller chose the id, which is then known as long as the record. */
  hasOwnId: boolean;
  failFast: boolean;
  resultTtlMs: number;
  recordTtlMs: number;
  followUps: readonly EncodedFollowUp[];
}

/** The work that maintenance of a queue's batches left. */
export interface MaintainReply {
  /** True if it used up its limit. */
  more: boolean;
  /** True if the outbox holds ends or follow-ups. */
  hasEnds: boolean;
  /** Jobs that became dead letters, because a job of their `after` did not end well. */
  failed: string[];
  /** Open members in other queues. Their queues may never report their ends. */
  elsewhere: ElsewhereMember[];
}

/** An open member in another queue than its batch. */
export interface ElsewhereMember {
  batch: string;
  /** The queue of the member. */
  queue: string;
  id: string;
  /** True if its batch was stopped, so it must be cancelled. */
  isStopped: boolean;
}

/** A member that has not ended. */
export interface OpenMember {
  batch: string;
  /** The queue of the member. */
  queue: string;
  id: string;
  /** True if maintenance has not checked the batch when it should. */
  isUnchecked: boolean;
}

/** The reply of a batch about a job: a member, a possible one, or why it cannot join. */
export const KNOWN_OUTCOMES = ['known', 'new', 'sealed', 'no-batch', 'lost'] as const;

export type KnownOutcome = (typeof KNOWN_OUTCOMES)[number];

/** The state of a job that others want to wait for: not ended (`open`), completed, or why they cannot. */
export const DEPEND_OUTCOMES = ['open', 'completed', 'unknown', 'failed', 'cancelled', 'crowded'] as const;

export type DependOutcome = (typeof DEPEND_OUTCOMES)[number];

/** A running member that adds others to its batch. */
export interface BatchAdder {
  /** Its id, or for a job of another queue as refTo returns it. */
  member: string;
  /** The token of its claim, if it is a job of the batch's queue. Else ''. */
  token: string;
}

/** The reply to a delivery of ends. */
interface Delivered {
  /** How many changed something. */
  changed: number;
  /** True if a batch has fired, and its follow-up may wait in the outbox there. */
  hasEnds: boolean;
}

/** A follow-up that waits for its queue. */
interface PendingFollowUp {
  entry: MemberEnd;
  /** Undefined before its batch has fired, and where the reply would be too long. */
  job: EncodedJob | undefined;
}

export interface BatchVerbs {
  create(batch: EncodedBatch): StoreCall<'created' | 'exists'>;
  /**
   * @param members jobs of other queues, each as refTo returns it
   * @param adder the running member that adds them, which a sealed batch needs
   */
  join(
    id: string,
    members: readonly string[],
    adder?: BatchAdder,
  ): StoreCall<'joined' | 'stopped' | 'sealed' | 'no-batch' | 'lost'>;
  /**
   * Returns which jobs are or were members, and which may join. It writes nothing.
   *
   * @param members and adder as of `join`
   */
  known(id: string, members: readonly string[], adder?: BatchAdder): StoreCall<KnownOutcome[]>;
  /** Returns which of these jobs may still read the records of the jobs that they came after. */
  readers(ids: readonly string[]): StoreCall<boolean[]>;
  /** Returns `posted` if it has fired, and the outbox has something for another queue. */
  seal(id: string): StoreCall<'sealed' | 'posted' | 'missing'>;
  stop(id: string): StoreCall<'stopped' | 'fired' | 'missing'>;
  status(id: string): StoreCall<BatchRecord | null>;
  /** Returns unfinished batches. With `ended` it returns the latest ended ones. */
  list(offset: number, limit: number, ended?: boolean): StoreCall<BatchRecord[]>;
  /** Returns the oldest open members of some batches that have not fired. */
  openMembers(batches: number, members: number): StoreCall<OpenMember[]>;
  results(id: string, offset: number, limit: number): StoreCall<BatchPage | null>;
  /**
   * Returns some of the ends and follow-ups for other queues.
   *
   * @param except queues whose entries are left out
   */
  outbox(limit: number, except?: readonly string[]): StoreCall<MemberEnd[]>;
  deliver(from: string, ends: readonly MemberEnd[]): StoreCall<Delivered>;
  /**
   * Removes entries from the outbox. Returns how many, or -1 if another sender of follow-ups has drawn a fence.
   *
   * @param fence of the sender of follow-ups
   */
  acknowledge(ends: readonly MemberEnd[], fence?: number): StoreCall<number>;
  /**
   * Draws the fence of a sender of follow-ups, and returns those of the entries that are still in the outbox.
   *
   * @param leastFence the fence of another sender, which this one exceeds
   */
  followUps(
    entries: readonly MemberEnd[],
    leastFence?: number,
  ): StoreCall<{ fence: number; pending: PendingFollowUp[] }>;
  /** Returns the ends of members here of batches in the queue `home`: of those that are gone too. */
  ends(home: string, members: readonly { batch: string; id: string }[]): StoreCall<MemberEnd[]>;
  /** Notes that jobs of the queue `home` wait for jobs here. Returns how each of these is. */
  depend(home: string, pairs: readonly { id: string; waiting: string }[]): StoreCall<DependOutcome[]>;
  /** Asks for the cancel of members here of a batch in another queue. */
  cancel(ids: readonly string[]): StoreCall<void>;
}
