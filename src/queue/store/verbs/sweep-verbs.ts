import type { ReclaimedJob } from '../call-outcomes.js';
import type { JobReference } from '../../model/batch.js';
import type { Place } from '../../validation/key-table.js';
import type { StoreCall } from '../store-call.js';
import type { MaintainReply } from './batch-verbs.js';

/** The result of a look at the clients of the Redis pattern. */
interface AdoptReply {
  reclaimed: ReclaimedJob[];
  deadLetters: number;
  /** The number of claims that a sweep of such a client reclaimed. */
  sweptByClients: number;
  /** True if such clients worked here within ten minutes. */
  clientsAtWork: boolean;
}

/** The result of a tidy. */
export interface TidyReply {
  /** True if more is left to tidy. */
  more: boolean;
  /** How many dead letters `deadLetterCap` deleted since the last report. */
  dropped: number;
  /** The remembered ids of ended jobs and their bound, if they are near it. Reported once an hour. */
  remembered?: { ids: number; bound: number };
  /** True if records of ended jobs are kept that may have been read. */
  looksAtKept: boolean;
}

/** Records of ended jobs that are kept for jobs of other queues. */
interface KeptReply {
  /** True if more are due. */
  more: boolean;
  kept: { id: string; waiting: JobReference[] }[];
}

/** Looks at a queue without a gap between them, by the clock of the store, in ms. */
export interface Watched {
  fromMs: number;
  toMs: number;
  /** How long ago the caller met an outage of the store, in ms. Undefined if it met none. */
  sinceOutageMs?: number;
}

/** The turns of the processes that ask for a right which another one has. */
export interface AskingTurns {
  /** The length of a turn, in ms. In each turn one process asks. */
  readonly intervalMs: number;
  /** The most turns until the next one of a process. */
  readonly most: number;
}

/** The reply to a process that asks for the right to maintain a set of queues. */
export interface HoldReply {
  readonly hasRight: boolean;
  /** The ms until the process's turn to ask again. 0 if the process has the right, or gave it back. */
  readonly turnInMs: number;
  /** True if the process has the right, and no other one waits for its turn to ask. */
  readonly isAlone: boolean;
  /** The time of the server, in ms, if the process has the right and found nothing where it looks. */
  readonly idleAtMs?: number;
}

/** The verbs that run by the clock, in bounded slices. */
export interface SweepVerbs {
  /**
   * Takes or keeps the right to maintain a set of queues. If another process has it, the reply says when to ask again.
   *
   * @param lengthMs how long the process keeps the right; 0 gives it back
   * @param looked the calls of the queues, and their places, where the holder looks for work with the same call. All are on
   *   its server, in a Cluster in its slot. Undefined if it does not look
   */
  hold(
    set: string,
    process: string,
    lengthMs: number,
    turns: AskingTurns,
    looked?: { readonly queues: readonly { readonly key: string }[]; readonly places: readonly Place[] },
  ): StoreCall<HoldReply>;
  /**
   * @param gapMs a gap between sweeps that means the store was away; @param waitMs how long to wait after one
   * @param everyMs how often the caller maintains the queue; undefined if it only reclaims
   * @param watched the caller's unbroken looks at the queue, which show that the store was not away
   */
  reclaim(
    limit: number,
    gapMs: number,
    waitMs: number,
    everyMs?: number,
    watched?: Watched,
  ): StoreCall<{ reclaimed: ReclaimedJob[]; more: boolean }>;
  /**
   * Reclaims a slice of the claims of a worker whose process has ended, before they expire.
   *
   * @param cursor that of the last reply, '0' to begin; the reply '0' means that all claims were read
   * @param limit about how many claims to read
   */
  reclaimWorker(
    worker: string,
    cursor: string,
    limit: number,
  ): StoreCall<{ cursor: string; reclaimed: ReclaimedJob[] }>;
  /** Returns how many were moved. */
  promote(limit: number): StoreCall<number>;
  /**
   * Reclaims dead claims of clients of the Redis pattern, and keeps the jobs that they failed.
   *
   * @param paceMs as of tidy, for the failed jobs
   */
  adoptForeign(limit: number, paceMs?: number): StoreCall<AdoptReply>;
  /** Keeps jobs that such a client has just failed. Returns how many are dead letters now. */
  adoptFailed(ids: readonly string[]): StoreCall<number>;
  /**
   * Deletes unused data.
   *
   * @param paceMs does nothing if another call with a pace began within this many ms; 0: always runs
   */
  tidy(limit: number, paceMs?: number): StoreCall<TidyReply>;
  /**
   * Gives the records of ended jobs, which others waited to read, their lifetimes back. Returns those that only jobs of
   * other queues may still read.
   *
   * @param read ids of such records whose waiting jobs have ended
   */
  lookAtKept(limit: number, read?: readonly string[]): StoreCall<KeptReply>;
  /**
   * Returns undefined if the queue has no batches, and none of its jobs is in one.
   *
   * @param all true to look again at batches and jobs that were checked recently
   */
  maintainBatches(limit: number, all: boolean): StoreCall<MaintainReply | undefined>;
}
