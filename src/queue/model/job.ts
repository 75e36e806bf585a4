import type { StoredError } from '../errors/stored-error.js';
import type { StoredBackoff } from './backoff.js';
import type { JobMetadata } from './metadata.js';

/** The states of a job. */
export const JOB_STATUSES = ['pending', 'scheduled', 'processing', 'completed', 'failed', 'cancelled'] as const;
/** Where a job stands. */
export type JobStatus = (typeof JOB_STATUSES)[number];

/** What a job carries for its worker, beside its payload; the scripts read only how long it lives once cancelled. */
export interface WorkerOptions {
  maxAttempts?: number;
  backoff?: StoredBackoff;
  timeoutMs?: number;
  keepResult?: boolean;
  resultTtlMs?: number;
  /** The start that was asked for: what is no waiting is known by it. */
  delayMs?: number;
  runAtMs?: number;
  metadata?: JobMetadata;
  /** True if it is a member of a batch in another queue, which is to hear of its end. */
  guest?: boolean;
  /** True if its bad end stops its batch, whose other members are then to be cancelled. */
  stopsBatch?: boolean;
  /** Of a follow-up: the id of the batch whose members have ended. */
  batch?: string;
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
  /** What was enqueued. */
  readonly payload: Payload;
  /** Which attempt this is, from 1. */
  readonly attempt: number;
  /** How many attempts it has in all. */
  readonly maxAttempts: number;
  /** Grows with every claim of a job: hand it to what the job writes to, so that a stale attempt can be refused there. */
  readonly fence: number;
  /** The secret that settles this claim, and no other. */
  readonly token: string;
  /** When the job was enqueued, in ms by the server's clock; 0 where a foreign producer did not say. */
  readonly enqueuedAtMs: number;
  /** When it was claimed, in ms by the server's clock. */
  readonly claimedAtMs: number;
  /** What was asked for it. */
  readonly options: WorkerOptions;
  /** True for a first attempt without options; it can be settled at the least cost. @internal */
  readonly plain: boolean;
  /** True if the producer stored no name, and it was found in the payload. @internal */
  readonly nameless: boolean;
  /** True if another crash would bury the job: the worker holds it, and runs it alone. @internal */
  readonly alone: boolean;
  /** Claimed before a slot was free: held until `start`. @internal */
  readonly ahead: boolean;
  /** True if the job may expire before it begins: where it waited in the worker, Redis is asked first. @internal */
  readonly expires: boolean;
  /** What an earlier attempt left; undefined where none did. */
  readonly checkpoint?: unknown;
}

/** What a settle needs to know of a claim. */
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
  /** As far as it can be read: the payload of a broken one is undefined. */
  readonly job: ClaimedJob;
}

/** One attempt that has ended. */
export interface AttemptRecord {
  /** Which attempt it was, from 1. */
  attempt: number;
  /** When its handler was claimed. */
  startedAt: Date;
  /** When it ended. */
  endedAt: Date;
  /** Which worker held the claim; null for a client of the Redis pattern. */
  worker: string | null;
  /** How it ended. `interruption`: a shutdown or a snooze, which costs no attempt. */
  outcome: 'completed' | 'error' | 'crash' | 'interruption' | 'snooze' | 'rate_limited' | 'unhandled';
  /** Null where there was none: of one that completed, was given back, or was snoozed. */
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
  /** Where it stands. */
  status: JobStatus;
  /** What was enqueued. */
  payload: Payload;
  /** Absent when the handler returned undefined, or results are not kept. */
  result?: Result;
  /** How many attempts it has used. */
  attempts: number;
  /** How many attempts it has in all, where the job says so. */
  maxAttempts?: number;
  /** Attempts that ended in an error, in a crash of the worker, and by a shutdown. */
  errors: number;
  /** How many of its attempts ended with the death of their worker. */
  crashes: number;
  /** How often a shutdown or a snooze gave it back. */
  interruptions: number;
  /** How often a worker gave the job back because no handler there knew its name. */
  unhandled: number;
  /** How often its handler threw a RateLimitedError. Absent where it never did. */
  rateLimited?: number;
  /** From 1, the least urgent, to 1,000; 0 for none. */
  priority: number;
  /** The group that it takes turns with. Absent: none. */
  group?: string;
  /** What its enqueue gave along; absent where nothing. */
  metadata?: JobMetadata;
  /** The schedule whose tick, or `runNow`, enqueued it. */
  schedule?: string;
  /** Its batch, and what it is to the batch. Absent: none. */
  batch?: { queue: string; id: string; role: 'member' | 'follow-up' };
  /** Ids of the jobs of its queue that it waits for. Absent once it waits for none. */
  after?: string[];
  /** Ids of the jobs that were enqueued to start after it. Absent: none. */
  followedBy?: string[];
  /** When it was enqueued. */
  enqueuedAt: Date;
  /** When it may start, where it waits for a time. */
  dueAt?: Date;
  /** When it was last claimed. */
  claimedAt?: Date;
  /** When it completed. */
  completedAt?: Date;
  /** When it became a dead letter. */
  failedAt?: Date;
  /** When it was cancelled. */
  cancelledAt?: Date;
  /** When its cancel was asked for while it ran. */
  cancelRequestedAt?: Date;
  /** When it fails if it has not started. */
  expiresAt?: Date;
  /** The worker that claimed it last. */
  worker?: string;
  /** The number of its last claim. */
  fence?: number;
  /** The message of its last failure. */
  lastError?: string;
  /** When that was. */
  lastErrorAt?: Date;
  /** The last 20 attempts that did not complete, oldest first, then the one that did. */
  attemptLog: AttemptRecord[];
  /** What its handler last told of its progress. */
  progress?: unknown;
  /** What `job.checkpoint` stored last, for the next attempt. */
  checkpoint?: unknown;
  /** The lines of its handler, the oldest first. */
  log: LogLine[];
  /** What a list with `mostBytes` left out, with its length in bytes. */
  leftOut?: Partial<Record<'payload' | 'result' | 'progress' | 'log', number>>;
  /** Where the stored payload is not JSON: its text. `payload` is then undefined. */
  brokenPayload?: string;
}

/** A line that a handler wrote by `job.log`. */
export interface LogLine {
  /** When it was written. */
  at: Date;
  /** The text, at most 1,000 characters. */
  message: string;
}

/** Jobs of one name that wait for a worker which is not there. */
export interface UnservedName {
  /** The name that no live worker handles. */
  name: string;
  /** How long the oldest of them has waited, in ms. */
  waitingMs: number;
}

/** The depths, ages and counters of a queue at one moment. */
export interface QueueStats {
  /** Jobs that wait for a worker. */
  pending: number;
  /** How many of them wait in groups, where no group may start a job: paused, held by a job, or at a limit. Absent for none. */
  heldByGroups?: number;
  /** Batches with a follow-up that have not ended. Absent for none. */
  batches?: number;
  /** Jobs that wait for a time, a retry included. */
  scheduled: number;
  /** Jobs that are claimed. */
  processing: number;
  /** How many of them clients of the Redis pattern claimed, who announce no worker. Absent for none. */
  foreignClaims?: number;
  /** Completed jobs that are kept. */
  completed: number;
  /** Dead letters. */
  failed: number;
  /** Cancelled jobs that are kept. */
  cancelled: number;
  /** How long the oldest job has been claimable, in ms; 0 when none is. */
  oldestPendingAgeMs: number;
  /** The same of the jobs that no group holds back: their groups are neither paused, nor held by a job, nor at a limit. */
  oldestUnheldAgeMs: number;
  /** Claims past their visibility timeout that no sweep has taken back yet. */
  expiredClaims: number;
  /** Worker processes that announced themselves within the last 30 s. */
  workers: number;
  /**
   * The names of waiting jobs that no live worker announced, the longest wait first, as the front of the line shows: up to
   * 20 plain and 6 prioritized jobs. Workers of other languages announce nothing.
   */
  unserved: UnservedName[];
  /** When a process last maintained the queue; null where none did since there are jobs or workers. */
  maintainedAt: Date | null;
  /**
   * True if no process maintains the queue: its last maintenance is longer ago than a minute and three of its intervals, or a
   * minute is over since the first worker came, or since the oldest job waits.
   */
  maintenanceOverdue: boolean;
  /** Since when the queue is paused; null where it is not. */
  pausedAt: Date | null;
  /** Counters since the queue exists: enqueued, completed, failed, reclaimed, … */
  totals: Record<string, number>;
}

/** What a worker says of itself. */
export interface WorkerDetails {
  /** The name of its machine. */
  host: string;
  /** The id of its process. */
  pid: number;
  /** The version of the app; absent where it has none. */
  version?: string;
  /** How many jobs of this queue it runs at once, and, under a limit of its process, of all queues. */
  slots: number;
  /** How many jobs its process runs at once over all queues, where that is limited. */
  processSlots?: number;
  /** True if its process claims none of this queue's jobs for now. Absent: it claims. */
  paused?: true;
  /** Jobs whose handlers go on although their signals were aborted. */
  stuck?: { id: string; name: string }[];
}

/** A live worker of a queue. */
export interface WorkerRecord extends Partial<WorkerDetails> {
  /** The id of the worker. */
  id: string;
  /** When it was last heard of. */
  seenAt: Date;
  /** When it was started. */
  startedAt?: Date;
}

/** Which jobs are meant; all that is given must hold. */
export interface JobFilter {
  /** The job's name. */
  name?: string | undefined;
  /** Entries of its metadata. */
  metadata?: JobMetadata | undefined;
  /** In its state for so many ms or longer: since it was enqueued or made claimable, claimed, or ended. Of a scheduled job: due since. */
  olderThanMs?: number | undefined;
  /** In its state for at most so many ms. Of a scheduled job: due since at most so many, or not yet. */
  newerThanMs?: number | undefined;
}
