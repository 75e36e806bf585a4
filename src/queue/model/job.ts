import type { JobReference } from './batch.js';
import type { JobSignal, JobWait } from './signal.js';
import type { JobStep, LogLine } from './step.js';
import type { StoredError } from '../errors/stored-error.js';
import type { StoredBackoff } from './backoff.js';
import type { JobMetadata } from './metadata.js';

/** The kind of error of dead letters that killed their workers. */
export const CRASHED = '@crash';

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
  /** The job's attempts in total, if its enqueue set them. */
  maxAttempts?: number;
  /** The delay between its attempts, if its enqueue set it. */
  backoff?: StoredBackoff;
  /** The time limit of an attempt in ms, if its enqueue set it. */
  timeoutMs?: number;
  /** The slots that its enqueue asked for. */
  slots?: number;
  /** What it costs of the limits that its queue shares, by their names, if its enqueue said it. */
  limitCosts?: Record<string, number>;
  /** False if its result is not kept. */
  keepResult?: boolean;
  /** The time it is kept after its completion, in ms. */
  resultTtlMs?: number;
  /** The delay of the enqueue, which does not count as waiting. */
  delayMs?: number;
  /** The same for `runAt`, in ms of the epoch. */
  runAtMs?: number;
  /** The metadata of the enqueue. */
  metadata?: JobMetadata;
  /** The last time it was redriven or run again, in ms of the epoch. */
  startedOverAtMs?: number;
  /** True if the caller chose its id. @internal */
  own?: true;
  /** The batch of a member, as its hash has it. @internal */
  member?: string;
  /** True if its bad end stops its batch, whose other members are then to be cancelled. @internal */
  stopsBatch?: boolean;
  /** True if its name was found in the payload, but its retries are not set. @internal */
  nameless?: boolean;
  /** The id of the batch of a follow-up. */
  batch?: string;
  /** Its group. */
  group?: string;
  /** The id under which its payload was encoded, if it may have replaced that of another job. @internal */
  payloadId?: string;
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
  /** The job's attempts in total. */
  readonly maxAttempts: number;
  /** A number that grows with every claim of a job. Use it in the job's writes, to refuse a stale attempt there. */
  readonly fence: number;
  /** The secret that settles this claim, and no other. */
  readonly token: string;
  /** The time of the enqueue, in ms by the server's clock; 0 if a foreign producer did not store it. */
  readonly enqueuedAtMs: number;
  /** The time of the claim, in ms by the server's clock. */
  readonly claimedAtMs: number;
  /** The options of the enqueue. */
  readonly options: ClaimedJobOptions;
  /**
   * True for a first attempt without options or with metadata only. `own` if it has an id of the caller's besides, and
   * `grouped` if its only option is its group. Such an attempt is settled at the least cost. @internal
   */
  readonly plain: boolean | 'grouped' | 'own';
  /** True if the producer stored no name, and no worker with its handler has started it yet. @internal */
  readonly nameless: boolean;
  /** True if another crash would bury the job: the worker holds it, and runs it alone. @internal */
  readonly isolated: boolean;
  /** Claimed before a slot was free: unstarted until `start`. @internal */
  readonly prefetched: boolean;
  /** True if the job may expire before it begins. If it waited in the worker, Redis decides first. @internal */
  readonly expires: boolean;
  /** The checkpoint of an earlier attempt, or undefined. */
  readonly checkpoint?: unknown;
}

/** Returns when a job first became claimable: the time of its enqueue, or the start that its enqueue set. */
export function readyAtMsOf({ enqueuedAtMs, options }: Pick<ClaimedJob, 'enqueuedAtMs' | 'options'>): number {
  return Math.max(enqueuedAtMs + (options.delayMs ?? 0), options.runAtMs ?? 0);
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
  readonly plain?: boolean | 'grouped' | 'own';
}

/** A claimed job that must not run; the claimer settles it as failed, with this reason. */
export interface RefusedJob extends ClaimRef {
  readonly error: StoredError;
  /** True if the error quotes nothing of the job, so it stays readable without the key. */
  readonly isReadable?: true;
  /** The job, as far as it can be read. The payload of a broken job is undefined. */
  readonly job: ClaimedJob;
}

/** An ended attempt. */
export interface AttemptRecord {
  /** The number of the attempt, from 1. */
  attempt: number;
  /** The time of its claim. */
  startedAt: Date;
  /** The time of its end. */
  endedAt: Date;
  /** The worker that held the claim; null for a client of the Redis pattern. */
  worker: string | null;
  /**
   * The end of the attempt. `interruption`: a shutdown. `outage`: Redis was full or refused writes. `wait`: for a
   * signal, or a sleep. Only `error` and
   * `crash` cost an attempt.
   */
  outcome:
    | 'completed'
    | 'error'
    | 'crash'
    | 'interruption'
    | 'snooze'
    | 'rate_limited'
    | 'unhandled'
    | 'outage'
    | 'wait';
  /** The time when its process died, of a crash whose process could say so. `endedAt` is when the job was brought back. */
  diedAt?: Date;
  /** The error; null for an attempt that completed, was released, or was snoozed. */
  error: StoredError | null;
}

/** The record of a job. */
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
  /** The number of used attempts. */
  attempts: number;
  /** Its attempts in total, if the job sets them. */
  maxAttempts?: number;
  /** The number of attempts that ended in an error. A claim that refused the job counts too, and uses no attempt. */
  errors: number;
  /** The number of attempts that ended with the death of their worker. */
  crashes: number;
  /** The number of releases by a shutdown or a snooze. */
  interruptions: number;
  /** The number of releases by workers without a handler for its name. */
  unhandled: number;
  /** The number of times that its handler threw a RateLimitedError. Absent for none. */
  rateLimited?: number;
  /** The priority from 1, the least urgent, to 1,000; 0 for none. */
  priority: number;
  /** Its group, which takes turns with others. Absent: none. */
  group?: string;
  /** The metadata of the enqueue; absent if there is none. */
  metadata?: JobMetadata;
  /** The slots that its enqueue asked for. They count only where its handler has a range. Absent: none. */
  slots?: number;
  /** What it costs of limits that its queue shares, by their names, as its enqueue said. Absent: none. */
  limitCosts?: Record<string, number>;
  /** The schedule whose tick, or `runNow`, enqueued it. */
  schedule?: string;
  /** What its handler has written by `job.stream`: the number of the last entry, and the stored bytes. Absent for nothing. */
  stream?: { entries: number; bytes: number };
  /** Its batch, and its role there. Absent without a batch. */
  batch?: { queue: string; id: string; role: 'member' | 'follow-up' };
  /** The jobs that it waits for. Absent once it waits for none. */
  after?: JobReference[];
  /** `from`: the dead letter that it redrives. `as`: the new job that redrives it. Absent: none. */
  redriven?: { from?: string; as?: string };
  /** The jobs that were enqueued to start after it. Absent: none. */
  followedBy?: JobReference[];
  /** The time of the enqueue. */
  enqueuedAt: Date;
  /** The time when it was last redriven or run again. Absent: never. */
  startedOverAt?: Date;
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
  /** The id of the newer job that took its unique key, and for which it was cancelled. */
  supersededBy?: string;
  /** The new place of a job that moved away from here, in words. Absent for any other. */
  movedTo?: string;
  /** The time when it fails if it has not started. */
  expiresAt?: Date;
  /** The worker that claimed it last. */
  worker?: string;
  /** True while its worker has claimed it, and has not started its handler: it waits there for a slot. */
  unstarted?: true;
  /** True while it is unstarted until it can run alone there, because its last permitted crash would be next. */
  isolated?: true;
  /** The number of its last claim. */
  fence?: number;
  /** The message of its last failure. */
  lastError?: string;
  /** The kind of that error, while it is a dead letter; see DeadLetters.kinds. */
  errorKind?: string;
  /** The time of that error. */
  lastErrorAt?: Date;
  /** The last 20 attempts that did not complete, oldest first, then the completed one. */
  attemptLog: AttemptRecord[];
  /** The last progress of its handler. */
  progress?: unknown;
  /** The last value of `job.checkpoint`, for the next attempt. */
  checkpoint?: unknown;
  /** The recorded steps of `job.step`, the first first. */
  steps?: JobStep[];
  /** The waits of `job.waitFor` and `job.sleep`. Absent: none. */
  waits?: JobWait[];
  /** The signals that it got, the first first. Absent: none. */
  signals?: JobSignal[];
  /** The lines of its handler, the oldest first. */
  log: LogLine[];
  /** The fields that a list with `mostBytes` left out, with their length in bytes. */
  leftOut?: Partial<Record<'payload' | 'result' | 'progress' | 'log' | 'steps' | 'signals', number>>;
  /** The text of a stored payload that is not JSON. `payload` is then undefined. */
  brokenPayload?: string;
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
  /** The time of these figures, by the server's clock. */
  at: Date;
  /** Jobs that wait for a worker. */
  pending: number;
  /** The number of pending jobs whose group may start none: paused, held by a job, or at a limit. Absent for none. */
  heldByGroups?: number;
  /** The number of pending jobs whose group rests until its key of a shared limit has a free permit. Absent for none. */
  awaitingPermit?: number;
  /** Unfinished batches with a follow-up. Absent for none. */
  batches?: number;
  /** Jobs that wait for a time, a retry included, for other jobs, or for a signal. */
  scheduled: number;
  /** The number of scheduled jobs that wait for a signal or sleep. Absent for none. */
  parked?: number;
  /** Jobs that are claimed. */
  processing: number;
  /** The number of them that clients of the Redis pattern claimed. Such clients announce no worker. Absent for none. */
  foreignClaims?: number;
  /**
   * The entries of the completed history: kept jobs. An expired job counts until all entries before it have left, if
   * its `resultTtlMs` was shorter than theirs. So does an id that is used again.
   */
  completed: number;
  /** Dead letters. */
  failed: number;
  /** The kinds of their errors; absent for none. See DeadLetters.kinds. */
  errorKinds?: number;
  /** The entries of the cancelled history, counted as `completed` is. */
  cancelled: number;
  /** The time the oldest job has been claimable, in ms; 0 without one. */
  oldestPendingAgeMs: number;
  /** The same without the jobs of groups that may start none: paused, held by a job, or at a limit. */
  oldestUnheldAgeMs: number;
  /** Claims past their visibility timeout that no sweep has reclaimed yet. */
  expiredClaims: number;
  /** Worker processes that announced themselves within the last 30 s. */
  workers: number;
  /** The time when the last worker was seen, if none lives. Absent: one lives, or nothing is known. */
  lastWorkerAt?: Date;
  /**
   * The names of waiting jobs that no live worker announced, the longest wait first. They are read from the front of
   * the line: up to 20 plain and 6 prioritized jobs. Workers of other languages announce nothing.
   */
  unserved: UnservedName[];
  /** The time of the last maintenance of the queue; null if none ran since there are jobs or workers. */
  maintainedAt: Date | null;
  /** True if no process maintains the queue. By default none has for 125 s, or none in the first minute with work. */
  maintenanceOverdue: boolean;
  /** The time of the queue's pause; null if it is not paused. */
  pausedAt: Date | null;
  /** The name of who paused it, if it was given. */
  pausedBy?: string;
  /** The reason, if it was given. */
  pauseReason?: string;
  /** When the pause ends by itself. Absent: somebody must resume it. */
  pausedUntil?: Date;
  /** The number of ids of ended jobs that are known, and their bound, if workers have announced it. Absent for none. */
  rememberedIds?: { count: number; bound?: number };
  /** The wait from which the queue is late, in ms, if workers have announced another one than the default. */
  lateAfterMs?: number;
  /** The schedules of the queue. Absent for none. */
  schedules?: number;
  /** The first due time of a schedule that has passed without a run. Absent: all are on time. */
  schedulesOverdueSince?: Date;
  /** The time when `deadLetterCap` last deleted dead letters. `totals.dropped` counts them. Absent: never. */
  droppedAt?: Date;
  /** Counters since the queue exists: enqueued, completed, failed, reclaimed, … */
  totals: Record<string, number>;
}

/** The filter of jobs; all fields must match. */
export interface JobFilter {
  /** The job's name. */
  name?: string | undefined;
  /** Entries of its metadata. */
  metadata?: JobMetadata | undefined;
  /** The minimum age, in ms: since the job became claimable, was claimed or ended; if scheduled, since its enqueue. */
  olderThanMs?: number | undefined;
  /** The maximum age, in ms. */
  newerThanMs?: number | undefined;
}
