// The verbs of a store: each method makes one call. The header of its script in lua/ has the contract.
import type { CleanReply, DrainedOutcome, FailOutcome, ReleaseOutcome, StartOutcome } from './call-outcomes.js';
import type {
  ClaimReply,
  ClaimRequest,
  Completion,
  Failure,
  Release,
  StartedClaim,
  AttemptLimits,
} from './attempt-forms.js';
import type { CompleteReply } from './complete-reply.js';
import type { Announced, AnnouncedContent } from '../codec/announced-content.js';
import type { JobOutcome } from '../model/job-event.js';
import type { ClaimRef, ClaimedJob, JobRecord, JobStatus, QueueStats } from '../model/job.js';
import type { StepOutcome, StoredStep } from '../model/step.js';
import type { WorkerDetails, WorkerRecord } from '../model/worker-record.js';
import type { FoundJobs, JobQuery } from './find-query.js';
import type { Sealed } from '../codec/sealed.js';
import type { ResolvedQueueOptions } from '../model/queue-options.js';
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
import type { JOB } from '../verbs/job.js';
import type { CallsOf } from '../verbs/verb.js';

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

/** A claim of a job without a stored name. It has the name, and the retries that neither its handler nor its queue sets. */
type NamedClaim = Pick<ClaimedJob, 'id' | 'token' | 'name' | 'options'>;

interface ExtendReply {
  /** Ids of jobs whose claim is no longer the caller's. */
  lost: string[];
  cancelRequested: string[];
}

/** The verbs of producers, consumers and workers. */
interface JobVerbs {
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
  /** Returns the end of a job, which outlives its record; null without the option `outcomes`. */
  outcome(id: string): StoreCall<JobOutcome | null>;
  /** @param mostBytes leaves out longer payloads and the like; a store in memory leaves out nothing */
  list(status: JobStatus, offset: number, limit: number, mostBytes?: number): StoreCall<JobRecord[]>;
  find(status: JobStatus, query: JobQuery): StoreCall<FoundJobs>;
  stats(): StoreCall<QueueStats>;
  /** Returns the time of the store, in ms. */
  now(): StoreCall<number>;
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
export interface StoreCalls extends CallsOf<typeof JOB>, JobVerbs, AdminVerbs, ReportVerbs {
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
