/** How a member of a batch has ended; `open`: it has not. `removed`: it was deleted before it ended. */
export type BatchMemberStatus = 'open' | 'completed' | 'failed' | 'cancelled' | 'removed';

/** What became of one member of a batch. */
export interface BatchMember<Result = unknown> {
  id: string;
  queue: string;
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
  open: number;
  completed: number;
  failed: number;
  cancelled: number;
  removed: number;
  createdAt: Date;
  sealedAt?: Date;
  firedAt?: Date;
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
