/** How a member of a batch has ended; `open`: it has not. `removed`: it was deleted before it ended. */
export type BatchMemberStatus = 'open' | 'completed' | 'failed' | 'cancelled' | 'removed';

/** What became of one member of a batch. */
export interface BatchMember<Result = unknown> {
  /** The id of the job. */
  id: string;
  /** The queue of the job. */
  queue: string;
  /** How it ended, or `open`. */
  status: BatchMemberStatus;
  /** Of one that completed; absent where the handler returned undefined, or its result was not kept. */
  result?: Result;
  /** Of one that failed: its last error. */
  error?: string;
}

/** One page of the members of a batch. */
export interface BatchPage<Result = unknown> {
  /** In the order in which they joined. */
  members: BatchMember<Result>[];
  /** The `offset` of the next page; absent on the last one. */
  next?: number;
}

/** How far a batch is. */
export interface BatchRecord {
  /** The id of the batch. */
  id: string;
  /** The queue of the batch and of its follow-ups. */
  queue: string;
  /**
   * `open`: jobs may join. `sealed`: it waits for its members. `fired`: all members have ended, and the follow-ups are enqueued.
   * `ended`: the follow-ups have ended too.
   */
  state: 'open' | 'sealed' | 'fired' | 'ended';
  /** True once `failFast` or `cancel` ends the members that are still open. */
  stopped: boolean;
  /** How many members it has had, and how many of them have not ended. */
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
  /** When it was created. */
  createdAt: Date;
  /** When it was sealed. Absent before. */
  sealedAt?: Date;
  /** When its follow-ups were enqueued. Absent before. */
  firedAt?: Date;
  /** When its follow-ups had ended. Absent before. */
  endedAt?: Date;
}

/** A follow-up as it is stored. */
export interface EncodedFollowUp {
  kind: 'then' | 'on_failure' | 'finally';
  name: string;
  /** JSON. */
  payload: string;
  /** JSON of what an enqueue reads. */
  options: string;
}

/** A batch as it is created. */
export interface EncodedBatch {
  id: string;
  failFast: boolean;
  resultTtlMs: number;
  followUps: readonly EncodedFollowUp[];
}

/** What happened to a job whose batch is in another queue. */
export interface BatchNews {
  /** The queue of the batch. */
  queue: string;
  batch: string;
  id: string;
  /** Grows with each piece of news of the job's queue. */
  number: string;
  state: string;
  /** The result as JSON, or why it failed. */
  detail: string;
}
