import type { Sealed } from '../codec/sealed.js';

/** The keys of a batch beside its record, after a slash; see docs/internals/batches.md. */
export const BATCH_PARTS = ['open', 'members', 'outcomes', 'seen', 'early'] as const;

/** A job by its queue and its id, such as a `JobHandle`. */
export interface JobReference {
  /** The queue of the job. */
  readonly queue: string;
  /** The id of the job. */
  readonly id: string;
}

/** The end of a member of a batch; `open` before it. `removed`: it was deleted before it ended. */
export type BatchMemberStatus = 'open' | 'completed' | 'failed' | 'cancelled' | 'removed';

/** The outcome of one member of a batch. */
export interface BatchMember<Result = unknown> {
  /** The id of the job. */
  id: string;
  /** The queue of the job. */
  queue: string;
  /** The end of the member, or `open`. */
  status: BatchMemberStatus;
  /** The result of a completed member; absent if the handler returned undefined, or its result was not kept. */
  result?: Result;
  /** The last error of a failed member. */
  error?: string;
}

/** One page of the members of a batch. */
export interface BatchPage<Result = unknown> {
  /** The members, in the order in which they joined. */
  members: BatchMember<Result>[];
  /** The `offset` of the next page; absent on the last one. */
  next?: number;
}

/** The kinds of follow-ups, as they are stored. */
export const FOLLOW_UP_KINDS = ['then', 'on_failure', 'finally'] as const;

export type FollowUpKind = (typeof FOLLOW_UP_KINDS)[number];

/** A job that follows a batch. */
export interface BatchFollowUp extends JobReference {
  /** The option of the batch that has it. */
  kind: 'then' | 'onFailure' | 'finally';
  /** True once the batch has fired, until the job is in its queue. Only for another queue than the batch's. */
  isOnItsWay?: true;
}

/** The progress of a batch. */
export interface BatchRecord {
  /** The id of the batch. */
  id: string;
  /** The queue of the batch. */
  queue: string;
  /** The jobs that may follow. Each exists once the batch has fired and its kind applies. */
  followUps: BatchFollowUp[];
  /**
   * `open`: jobs may join. `sealed`: it waits for its members. `fired`: all members have ended, and the follow-ups are enqueued.
   * `ended`: the follow-ups have ended too.
   */
  state: 'open' | 'sealed' | 'fired' | 'ended';
  /** True once `failFast` or `cancel` ends the open members. */
  stopped: boolean;
  /** The number of members, and of those that have not ended. */
  total: number;
  /** Members that have not ended. */
  open: number;
  /** Members that completed. */
  completed: number;
  /** Members that are dead letters. */
  failed: number;
  /** Members that were cancelled. */
  cancelled: number;
  /** Members that were deleted. */
  removed: number;
  /** The time of its creation. */
  createdAt: Date;
  /** The time of its seal. Absent before. */
  sealedAt?: Date;
  /** The time when its follow-ups were enqueued. Absent before. */
  firedAt?: Date;
  /** The time when its follow-ups had ended. Absent before. */
  endedAt?: Date;
}

/** An entry for another queue: the end of a job whose batch is there, or a follow-up. */
export interface MemberEnd {
  /** The queue of the batch. */
  queue: string;
  batch: string;
  id: string;
  /** Grows with each entry of the job's queue. */
  number: string;
  /** Its end, `open` after a redrive; or the kind of a follow-up, which goes to that queue. */
  state: string;
  /** The result as JSON, or why it failed. */
  detail: Sealed | '';
}
