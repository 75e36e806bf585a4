// The verbs of a store: each method makes one call. The header of its script in lua/ has the contract.
import type {
  CancelReply,
  CleanReply,
  DrainedOutcome,
  FailOutcome,
  ReleaseOutcome,
  RemoveReply,
  RescheduleOutcome,
  RestartOutcome,
  StartOutcome,
  UpdateOutcome,
} from './call-outcomes.js';
import type { CompleteReply } from './complete-reply.js';
import type { Announced, AnnouncedContent } from '../codec/announced-content.js';
import type { JobOutcome } from '../model/job-event.js';
import type { ClaimRef, ClaimedJob, JobRecord, JobStatus, QueueStats, RefusedJob } from '../model/job.js';
import type { StepOutcome, StoredStep } from '../model/step.js';
import type { WorkerDetails, WorkerRecord } from '../model/worker-record.js';
import type { FoundJobs, JobQuery } from './find-query.js';
import type { StoredError } from '../errors/stored-error.js';
import type { Sealed, SealedError } from '../codec/sealed.js';
import type { ResolvedQueueOptions } from '../model/queue-options.js';
import type { EncodedJob, EnqueueReply } from './enqueue-call.js';
import type { ActionVerbs } from './verbs/action-verbs.js';
import type { AlertVerbs } from './verbs/alert-verbs.js';
import type { BatchVerbs } from './verbs/batch-verbs.js';
import type { GroupVerbs } from './verbs/group-verbs.js';
import type { ScheduleVerbs } from './verbs/schedule-verbs.js';
import type { DeadLetterVerbs } from './verbs/dead-letter-verbs.js';
import type { AuditVerbs } from './verbs/audit-verbs.js';
import type { HistoryVerbs } from './verbs/history-verbs.js';
import type { LimitVerbs } from './verbs/limit-verbs.js';
import type { OnceVerbs } from './verbs/once-verbs.js';
import type { SweepVerbs } from './verbs/sweep-verbs.js';
import type { StoreCall } from './store-call.js';

export type {
  DeadLetterPlace,
  DeadLetterQuery,
  DeadLetterSlice,
  KindCount,
  DeadLetterVerbs,
  RedriveAsNewReply,
} from './verbs/dead-letter-verbs.js';
import type { LimitChanges } from '../model/limits.js';
import type { PauseOptions } from '../model/pause.js';
export type { HistorySlice, HistoryVerbs, MinuteReading } from './verbs/history-verbs.js';

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
}

/** The jobs that a claimer takes after it met a name that it does not handle. */
export interface OnlyNames {
  /** All its handlers. */
  limits: readonly AttemptLimits[];
  /** The place to search for their jobs, from the last claim. -1: only at the front and the back. */
  cursor: number;
}

/** The reply of one claim. */
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

/** A claim of a job without a stored name. It has the name, and the retries that neither its handler nor its queue sets. */
type NamedClaim = Pick<ClaimedJob, 'id' | 'token' | 'name' | 'options'>;

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

interface ExtendReply {
  /** Ids of jobs whose claim is no longer the caller's. */
  lost: string[];
  cancelRequested: string[];
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
  reason: 'interruption' | 'snooze' | 'rate_limited' | 'unhandled' | 'outage';
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

/** The verbs of producers, consumers and workers. */
interface JobVerbs {
  /** Enqueues jobs. Its `decode` throws an EnqueueRejected if nothing was written. */
  enqueue(jobs: readonly EncodedJob[]): StoreCall<EnqueueReply[]>;
  /** Checks jobs of an enqueue of several steps. Its `decode` throws an EnqueueRejected if one would be refused. */
  checkEnqueue(jobs: readonly EncodedJob[]): StoreCall<void>;
  claim(request: ClaimRequest): StoreCall<ClaimReply>;
  /** Extends the claims of one request whose reply is still in flight. Returns how many there are. */
  extendBatch(request: Pick<ClaimRequest, 'worker' | 'stream' | 'token'>): StoreCall<number>;
  /** Starts jobs that waited in their worker. */
  start(claims: readonly StartedClaim[]): StoreCall<StartOutcome[]>;
  /**
   * Notes an uncaught error of the process, for the text of the crashes if these claims expire. Returns how many are
   * current.
   */
  noteDeath(claims: readonly Pick<ClaimRef, 'id' | 'token'>[], error: Sealed): StoreCall<number>;
  /** Returns only the claims that need attention. @param visibilityMs default: the queue's */
  extend(claims: readonly Pick<ClaimRef, 'id' | 'token'>[], visibilityMs?: number): StoreCall<ExtendReply>;
  /**
   * Returns the positions, from 0, of the lost claims.
   *
   * @param isLimited whether the queue has limits, so that each freed slot wakes a worker
   */
  complete(completions: readonly Completion[], isLimited?: boolean): StoreCall<CompleteReply>;
  fail(failures: readonly Failure[]): StoreCall<FailOutcome[]>;
  release(releases: readonly Release[]): StoreCall<ReleaseOutcome[]>;
  /** Returns whether the name was written. */
  setName(job: NamedClaim): StoreCall<boolean>;
  /** Returns whether the claim was current. */
  progress(claim: Pick<ClaimRef, 'id' | 'token'>, progress: Sealed): StoreCall<boolean>;
  /** Stores the checkpoint for the next attempt. Returns whether the claim was current. */
  checkpoint(claim: Pick<ClaimRef, 'id' | 'token'>, checkpoint: Sealed): StoreCall<boolean>;
  /** Records a step; without one returns the recorded steps. */
  step(
    claim: Pick<ClaimRef, 'id' | 'token'>,
    step?: { name: string; result: Sealed | '' },
  ): StoreCall<StepOutcome | StoredStep[]>;
  /** Returns whether the claim was current. */
  log(claim: Pick<ClaimRef, 'id' | 'token'>, keep: number, lines: readonly Sealed[]): StoreCall<boolean>;
}

/** The verbs of operators for a queue and its jobs. */
interface AdminVerbs {
  get(id: string): StoreCall<JobRecord | null>;
  /** Returns the end of a job, which outlives its record; null without the option `outcomes`. */
  outcome(id: string): StoreCall<JobOutcome | null>;
  /** @param mostBytes leaves out longer payloads and the like; a store in memory leaves out nothing */
  list(status: JobStatus, offset: number, limit: number, mostBytes?: number): StoreCall<JobRecord[]>;
  find(status: JobStatus, query: JobQuery): StoreCall<FoundJobs>;
  stats(): StoreCall<QueueStats>;
  /** Returns the time of the store, in ms. */
  now(): StoreCall<number>;
  /** @param ifStatus does nothing to a job in another one */
  cancel(id: string, ifStatus?: JobStatus): StoreCall<CancelReply>;
  /** Returns the job too, where this request cancelled it. */
  cancelAndReturn(
    id: string,
    request: string,
    ifStatus?: JobStatus,
  ): StoreCall<{ outcome: CancelReply; cancelled?: JobRecord }>;
  /** Returns in how many ms the start would be, and the expiry, where the job would have expired by then. */
  reschedule(
    id: string,
    start: { delayMs: number } | { runAtMs: number },
  ): StoreCall<RescheduleOutcome | { startsInMs: number; expiresInMs: number }>;
  /** @param ifStatus does nothing to a job in another one */
  remove(id: string, ifStatus?: JobStatus): StoreCall<RemoveReply>;
  /** Keeps the record of an unfinished job after its end, for a caller that waits for its result. Returns false for another. */
  holdResult(id: string, forMs: number): StoreCall<boolean>;
  /** Starts a scheduled job now. */
  promote(id: string): StoreCall<RestartOutcome>;
  /** @param payload JSON; @param name the required name of the job; without it every name is accepted */
  update(id: string, payload: Sealed, name?: string): StoreCall<UpdateOutcome>;
  setPriority(id: string, priority: number): StoreCall<UpdateOutcome>;
  /** @param request identifies this request, so that its repeat is recognised */
  runAgain(id: string, request: string): StoreCall<RestartOutcome>;
  /** @param passed how many to pass over, as the last call returned */
  clean(
    place: JobStatus | 'prioritized' | 'grouped',
    olderThanMs: number,
    limit: number,
    passed: number,
  ): StoreCall<CleanReply>;
  purge(limit: number): StoreCall<{ deleted: number; more: boolean }>;
  pause(options: PauseOptions): StoreCall<boolean>;
  /** Gives a pause with this end a later one. Returns false if the pause has another end, or none. */
  extendPause(knownEndMs: number, forMs: number): StoreCall<boolean>;
  /** Ends a pause, and then changes these limits. Returns false if the queue was not paused; then nothing is changed. */
  resume(limits?: LimitChanges): StoreCall<boolean>;
}

/** The jobs that wait although no live worker handles their names. */
interface UnservedJobs {
  /** Positions in the call. */
  waiting: number[];
  workers: number;
  /** Some of the names that they handle. */
  names: string[];
}

/** The announcements of workers. */
export interface WorkerVerbs {
  /** Announces a worker with the limits of its handlers, or takes that back. Rejects with QueueLayoutError where a newer version has the queue. */
  register(worker: string, serves: boolean, handlers?: readonly AttemptLimits[]): StoreCall<void>;
  /** Stores details of a worker for operators; undefined: it has stopped. @param ageMs how long ago it started */
  describe(worker: string, details: WorkerDetails | undefined, ageMs: number): StoreCall<void>;
  /** Returns the workers with a recent announcement, the latest first. */
  list(most: number): StoreCall<WorkerRecord[]>;
  /** Ends the wait of a worker. Wakes another one if jobs wait. */
  passWake(worker: string): StoreCall<void>;
}

/** The verbs by which workers report events of their queue, and read its announcements. */
interface ReportVerbs {
  /** Returns the storage format that the last worker announced, or undefined. */
  content(): StoreCall<AnnouncedContent | undefined>;
  /** Announces the `maxPayloadBytes` of a process that only enqueues, before it sends a giant payload. */
  notePayload(): StoreCall<void>;
  unserved(jobs: readonly { id: string; name: string }[]): StoreCall<UnservedJobs>;
  /** Returns whether there was a subscriber. */
  publish(job: Pick<ClaimedJob, 'id' | 'name'>, status: 'lost' | 'stuck'): StoreCall<boolean>;
  /** Publishes that the queue is drained, if it is. */
  publishDrained(): StoreCall<DrainedOutcome>;
}

/** The calls of one queue: every step that can be taken on it. Each is named as its script, in the room of its folder. */
export interface StoreCalls extends JobVerbs, AdminVerbs, ReportVerbs {
  /** Identifies the queue in its store. */
  readonly key: string;
  readonly options: ResolvedQueueOptions;
  /** What the last reading found announced of the queue. */
  readonly announced: Announced;
  readonly sweep: SweepVerbs;
  readonly workers: WorkerVerbs;
  readonly limits: LimitVerbs;
  readonly deadLetters: DeadLetterVerbs;
  readonly schedules: ScheduleVerbs;
  readonly batches: BatchVerbs;
  readonly history: HistoryVerbs;
  readonly audit: AuditVerbs;
  readonly actions: ActionVerbs;
  readonly groups: GroupVerbs;
  readonly once: OnceVerbs;
  readonly alerts: AlertVerbs;
}
