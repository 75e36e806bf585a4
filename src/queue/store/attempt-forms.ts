// What a claim asks for and brings, and how the attempts of its jobs end.
import type { Sealed, SealedError } from '../codec/sealed.js';
import type { StoredError } from '../errors/stored-error.js';
import type { ClaimRef, ClaimedJob, RefusedJob } from '../model/job.js';

/** The limits of a handler that has its own. */
export interface AttemptLimits {
  name: string;
  maxAttempts: number;
  maxCrashes: number;
}

export interface ClaimRequest {
  count: number;
  token: string;
  worker: string;
  /** The claim stream of the worker; each has one claim in flight at a time. */
  stream: string;
  /** The attempts of jobs without a limit. Absent for a claim by hand. */
  maxAttempts?: number;
  /** Limits by job name, for handlers that have their own. */
  attemptLimits?: readonly AttemptLimits[];
  /**
   * The number of jobs that start at once. The others wait for `start`, and an isolated job runs alone. A job that has not
   * started gets no crash if its claimer dies. Absent if the claimer does not know it; then no job waits.
   */
  slots?: number;
  /** The number of further jobs that may wait for `start`. They count for the limits of the queue and of groups. @default 0 */
  waits?: number;
  /** The turns that a group has in a row, for a claimer that runs jobs of a group together. @default 1 */
  turnsInRow?: number;
  /** The most payload bytes of the claim. Its first job comes in any case. Absent for no bound. */
  mostBytes?: number;
  /** Set where the claimer takes only jobs whose names it handles, and leaves the others in their places. */
  only?: OnlyNames;
  /**
   * True for a worker, which announces the limits of its queue. It gets no job without a known announcement, or under that of a
   * worker that has stopped.
   */
  announces?: boolean;
  /**
   * The units of shared limits that the jobs may take. For each limit: its name, what a job costs whose enqueue does not say
   * it, and the units. Absent for a queue whose jobs have no costs of their own.
   */
  units?: readonly (readonly [limit: string, usual: number, units: number])[] | undefined;
}

/** The jobs that a claimer takes after it met a name that it does not handle. */
export interface OnlyNames {
  /** All its handlers. */
  limits: readonly AttemptLimits[];
  /** The place to search for their jobs, from the last claim. -1: only at the front and the back. */
  cursor: number;
}

export interface ClaimReply {
  readonly jobs: ClaimedJob[];
  readonly refused: RefusedJob[];
  /** ms until the next scheduled job is due; undefined when none is scheduled or the claim did not look. */
  readonly nextDueInMs: number | undefined;
  /** True where the bytes of the claim were reached and more jobs wait. */
  readonly isFull: boolean;
  /** True if the store knows no limits of a worker, although this one configures some. Then nothing was claimed. */
  readonly isUnannounced: boolean;
  /** True if the claim met limits of the queue or of a group. The next claim is then for free slots only. */
  isLimited: boolean;
  /** True if jobs wait for a slot of the queue or of their group. Then the end of a job lets another start. */
  awaitsSlots: boolean;
  /** The jobs that the claim left to others; absent if it claimed any job. */
  left?: LeftJobs;
  /** True if the claim found too little, and no wake of a Cluster reaches its worker. */
  isUnheard?: true;
  /** True if a producer of the Redis pattern made one of the jobs. Such producers set no marker. */
  isForeign?: true;
  /** What the next job costs of each limit with `units`; absent if no job waits, or nobody looked. */
  short?: readonly number[];
}

/** The other jobs that a claim of certain names saw. */
export interface LeftJobs {
  /** The place where the next claim must search. -1: all jobs were read. */
  cursor: number;
  /** True if a live worker handles one of them. */
  elsewhere: boolean;
  /** The names among them that no live worker handles. */
  unserved: readonly string[];
}

/** A claim whose job starts now, after it waited in its worker. */
export interface StartedClaim extends ClaimRef {
  readonly expires?: boolean;
  readonly isolated?: boolean;
  /** True if the death of its worker is no crash of it, until a later start charges it. */
  readonly uncharged?: boolean;
}

export interface Completion extends ClaimRef {
  /** JSON, or '' for none. */
  result: Sealed | '';
  resultTtlMs?: number;
}

export interface Failure extends ClaimRef {
  error: SealedError;
  /** The fingerprint of the error, where `error` is encrypted. @default that of `error` */
  kind?: string;
  /** True for no retry, even if attempts are left. */
  final: boolean;
  backoffMs: number;
  /** True if its handler was called: then its attempt counts, whether or not its start reached the store. */
  begun?: boolean;
}

/** A failure whose error is not sealed yet. */
export interface UnsealedFailure extends Omit<Failure, 'error' | 'kind'> {
  error: StoredError;
  /** The app's own words for the kind of the error. */
  ownKind?: string;
  /** True if the error quotes nothing of the job, so it stays readable without the key. */
  isReadable?: true;
}

export interface Release extends ClaimRef {
  reason: 'interruption' | 'snooze' | 'rate_limited' | 'unhandled' | 'outage' | 'wait' | 'permit';
  delayMs: number;
  /** The name from the payload of an `unhandled` job without a stored name. */
  name?: string;
  /** Its handler was never called, so its cost is refunded to the rates. */
  unstarted?: boolean;
  /** The refusal of an `outage`. It is one of ours, so it quotes nothing of the job. */
  error?: Pick<StoredError, 'name' | 'message'>;
  /** The number of snoozes, or of met rate limits: beyond it a job so released fails. @default the queue's */
  most?: number;
}

/** The completions that were not simply written, by position from 0. */
export interface CompleteReply {
  /** The claim was no longer the caller's. */
  readonly lost: readonly number[];
  /**
   * The completions that were not written, because other jobs now wait for their end. They must be sent again as jobs
   * that are not plain.
   */
  readonly followed: readonly number[];
  /** True if the outbox got an end or a follow-up for another queue. */
  readonly hasEnds?: true;
}

/** The reply where each completion was written. */
export const ALL_COMPLETED: CompleteReply = { lost: [], followed: [] };
