import type { StoredError } from '../errors/stored-error.js';
import type { StoredBackoff } from './backoff.js';
import type { JobMetadata } from './metadata.js';

/** The states of a job. */
export const JOB_STATUSES = [
  'pending',
  'scheduled',
  'processing',
  'completed',
  'failed',
  'cancelled',
] as const satisfies readonly JobStatus[];
/** The state of a job. */
export type JobStatus = 'pending' | 'scheduled' | 'processing' | 'completed' | 'failed' | 'cancelled';

/** The options of a job for its worker. The scripts read only the time to live of a cancelled job. */
export interface ClaimedJobOptions {
  /** How many attempts the job has, where its enqueue said. */
  maxAttempts?: number;
  /** How long to wait between its attempts, where its enqueue said. */
  backoff?: StoredBackoff;
  /** How long an attempt may take, in ms, where its enqueue said. */
  timeoutMs?: number;
  /** False if its result is not kept. */
  keepResult?: boolean;
  /** How long it is kept once it has completed, in ms. */
  resultTtlMs?: number;
  /** The delay that the enqueue asked for, which does not count as waiting. */
  delayMs?: number;
  /** The same for `runAt`, in ms of the epoch. */
  runAtMs?: number;
  /** The metadata of the enqueue. */
  metadata?: JobMetadata;
  /** True if it is a member of a batch in another queue, which is to hear of its end. */
  guest?: boolean;
  /** True if its bad end stops its batch, whose other members are then to be cancelled. */
  stopsBatch?: boolean;
  /** The id of the batch of a follow-up. */
  batch?: string;
  /** The group that it belongs to. */
  group?: string;
}

/** A job as a claim hands it out. The token fences every settle, extend, progress and log of this claim. */
export interface ClaimedJob<Payload = unknown> {
  /** The id of the job. */
  readonly id: string;
  /** The name of the job. */
  readonly name: string;
  /** The queue of the job. */
  readonly queue: string;
  /** The enqueued payload. */
  readonly payload: Payload;
  /** The number of this attempt, from 1. */
  readonly attempt: number;
  /** The attempts that the job has in all. */
  readonly maxAttempts: number;
  /**
   * A number that grows with every claim of a job. Use it in the job's writes, so that a stale attempt can be refused
   * there.
   */
  readonly fence: number;
  /** The secret that settles this claim, and no other. */
  readonly token: string;
  /** The time of the enqueue, in ms by the server's clock; 0 if a foreign producer did not store it. */
  readonly enqueuedAtMs: number;
  /** The time of the claim, in ms by the server's clock. */
  readonly claimedAtMs: number;
  /** The options of the enqueue. */
  readonly options: ClaimedJobOptions;
  /** True for a first attempt without options; it can be settled at the least cost. @internal */
  readonly plain: boolean;
  /** True if the producer stored no name, and it was found in the payload. @internal */
  readonly nameless: boolean;
  /** True if another crash would bury the job: the worker holds it, and runs it alone. @internal */
  readonly isolated: boolean;
  /** Claimed before a slot was free: held until `start`. @internal */
  readonly prefetched: boolean;
  /** True if the job may expire before it begins. If it waited in the worker, Redis decides first. @internal */
  readonly expires: boolean;
  /** The checkpoint of an earlier attempt, or undefined. */
  readonly checkpoint?: unknown;
}

/** The fields of a claim that a settle needs. */
export interface ClaimRef {
  /** The id of the job. */
  readonly id: string;
  /** The token of its claim. */
  readonly token: string;
  /** The fence of its claim. */
  readonly fence: number;
  /** @internal */
  readonly plain?: boolean;
}

/** A claimed job that must not run; the claimer settles it as failed, with this reason. */
export interface RefusedJob extends ClaimRef {
  readonly error: StoredError;
  /** The job, as far as it can be read. The payload of a broken one is undefined. */
  readonly job: ClaimedJob;
}

/** One attempt that has ended. */
export interface AttemptRecord {
  /** The number of the attempt, from 1. */
  attempt: number;
  /** The time of its claim. */
  startedAt: Date;
  /** The time of its end. */
  endedAt: Date;
  /** The worker that held the claim; null for a client of the Redis pattern. */
  worker: string | null;
  /** The end of the attempt. `interruption`: a shutdown or a snooze, which costs no attempt. */
  outcome: 'completed' | 'error' | 'crash' | 'interruption' | 'snooze' | 'rate_limited' | 'unhandled';
  /** The error; null for an attempt that completed, was released, or was snoozed. */
  error: StoredError | null;
}

/** All that is known of a job. */
export interface JobRecord<Payload = unknown, Result = unknown> {
  /** The id of the job. */
  id: string;
  /** The name of the job. */
  name: string;
  /** The queue of the job. */
  queue: string;
  /** The state of the job. */
  status: JobStatus;
  /** The enqueued payload. */
  payload: Payload;
  /** Absent when the handler returned undefined, or results are not kept. */
  result?: Result;
  /** The number of attempts that it has used. */
  attempts: number;
  /** The attempts that it has in all, if the job sets them. */
  maxAttempts?: number;
  /** The number of attempts that ended in an error. A claim that refused the job counts too, and uses no attempt. */
  errors: number;
  /** The number of attempts that ended with the death of their worker. */
  crashes: number;
  /** The number of times that a shutdown or a snooze released it. */
  interruptions: number;
  /** The number of times that a worker released it because it had no handler for the name. */
  unhandled: number;
  /** The number of times that its handler threw a RateLimitedError. Absent for none. */
  rateLimited?: number;
  /** The priority from 1, the least urgent, to 1,000; 0 for none. */
  priority: number;
  /** The group that it takes turns with. Absent: none. */
  group?: string;
  /** The metadata of the enqueue; absent if there is none. */
  metadata?: JobMetadata;
  /** The schedule whose tick, or `runNow`, enqueued it. */
  schedule?: string;
  /** Its batch, and its role there. Absent without a batch. */
  batch?: { queue: string; id: string; role: 'member' | 'follow-up' };
  /** Ids of the jobs of its queue that it waits for. Absent once it waits for none. */
  after?: string[];
  /** Ids of the jobs that were enqueued to start after it. Absent: none. */
  followedBy?: string[];
  /** The time of the enqueue. */
  enqueuedAt: Date;
  /** The time when it may start, if it is delayed. */
  dueAt?: Date;
  /** The time of the last claim. */
  claimedAt?: Date;
  /** The time of its completion. */
  completedAt?: Date;
  /** The time when it became a dead letter. */
  failedAt?: Date;
  /** The time when it was cancelled. */
  cancelledAt?: Date;
  /** The time when its cancel was requested while it ran. */
  cancelRequestedAt?: Date;
  /** The time when it fails if it has not started. */
  expiresAt?: Date;
  /** The worker that claimed it last. */
  worker?: string;
  /** True while its worker has claimed it, and has not started its handler: it waits there for a slot. */
  unstarted?: true;
  /** The number of its last claim. */
  fence?: number;
  /** The message of its last failure. */
  lastError?: string;
  /** The time of that error. */
  lastErrorAt?: Date;
  /** The last 20 attempts that did not complete, oldest first, then the one that did. */
  attemptLog: AttemptRecord[];
  /** The last progress of its handler. */
  progress?: unknown;
  /** The last value of `job.checkpoint`, for the next attempt. */
  checkpoint?: unknown;
  /** The lines of its handler, the oldest first. */
  log: LogLine[];
  /** The fields that a list with `mostBytes` left out, with their length in bytes. */
  leftOut?: Partial<Record<'payload' | 'result' | 'progress' | 'log', number>>;
  /** The text of a stored payload that is not JSON. `payload` is then undefined. */
  brokenPayload?: string;
}

/** A line that a handler wrote by `job.log`. */
export interface LogLine {
  /** The time of the line. */
  at: Date;
  /** The text, at most 1,000 characters. */
  message: string;
}

/** Jobs of one name that wait for a worker which is not there. */
export interface UnservedName {
  /** The name that no live worker handles. */
  name: string;
  /** The wait of the oldest of them, in ms. */
  waitingMs: number;
}

/** The depths, ages and counters of a queue at one moment. */
export interface QueueStats {
  /** Jobs that wait for a worker. */
  pending: number;
  /**
   * The number of them that wait in groups which may not start a job: paused, held by a job, or at a limit. Absent for
   * none.
   */
  heldByGroups?: number;
  /** Batches with a follow-up that have not ended. Absent for none. */
  batches?: number;
  /** Jobs that wait for a time, a retry included. */
  scheduled: number;
  /** Jobs that are claimed. */
  processing: number;
  /** The number of them that clients of the Redis pattern claimed. Such clients announce no worker. Absent for none. */
  foreignClaims?: number;
  /** Completed jobs that are kept. */
  completed: number;
  /** Dead letters. */
  failed: number;
  /** Cancelled jobs that are kept. */
  cancelled: number;
  /** How long the oldest job has been claimable, in ms; 0 if none is. */
  oldestPendingAgeMs: number;
  /** The same of the jobs that no group holds back: their groups are neither paused, nor held by a job, nor at a limit. */
  oldestUnheldAgeMs: number;
  /** Claims past their visibility timeout that no sweep has taken back yet. */
  expiredClaims: number;
  /** Worker processes that announced themselves within the last 30 s. */
  workers: number;
  /**
   * The names of waiting jobs that no live worker announced, the longest wait first. They are read from the front of the
   * line: up to 20 plain and 6 prioritized jobs. Workers of other languages announce nothing.
   */
  unserved: UnservedName[];
  /** The time of the last maintenance of the queue; null if none ran since there are jobs or workers. */
  maintainedAt: Date | null;
  /**
   * True if no process maintains the queue. Its last maintenance is longer ago than a minute and three of its intervals. Or
   * there was none for a minute after the first worker or the oldest job came.
   */
  maintenanceOverdue: boolean;
  /** The time of the queue's pause; null if it is not paused. */
  pausedAt: Date | null;
  /** The name of who paused it, if it was given. */
  pausedBy?: string;
  /** Why it is paused, where that was said. */
  pauseReason?: string;
  /** Counters since the queue exists: enqueued, completed, failed, reclaimed, … */
  totals: Record<string, number>;
}

/** The filter of jobs; all fields must match. */
export interface JobFilter {
  /** The job's name. */
  name?: string | undefined;
  /** Entries of its metadata. */
  metadata?: JobMetadata | undefined;
  /**
   * The least time in its state, in ms: since it was enqueued or made claimable, claimed, or ended. For a scheduled job:
   * since it was due.
   */
  olderThanMs?: number | undefined;
  /** The greatest time in its state, in ms. For a scheduled job: since it was due, or not due yet. */
  newerThanMs?: number | undefined;
}
