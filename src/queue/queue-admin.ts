import { updateJob } from './enqueue/update-job.js';
import { DeadLetters } from './dead-letters/dead-letters.js';
import type { JobDefinition, PayloadInput } from './enqueue/define-job.js';
import { InvalidOptionError } from './errors/errors.js';
import { show } from './errors/show.js';
import type { DoctorOptions, DoctorReport } from './model/doctor-report.js';
import { JOB_STATUSES, type JobRecord, type JobStatus, type QueueStats } from './model/job.js';
import { type PauseOptions, pauseOptions } from './model/pause.js';
import { type QueueOptions, type ResolvedQueueOptions, resolveQueueOptions } from './model/queue-options.js';
import type { WorkerRecord } from './model/worker-record.js';
import { AuditTrail } from './operate/audit-trail.js';
import { Canceller } from './operate/canceller.js';
import { type CleanOptions, type CleanableStatus, clean } from './operate/clean.js';
import { doctorSchema } from './operate/doctor-options.js';
import { type ListOptions, findJobs } from './operate/find-jobs.js';
import { Groups } from './operate/groups.js';
import { History } from './operate/history.js';
import { Limits } from './operate/limits.js';
import { purge } from './operate/purge.js';
import { type Start, checkRescheduleOptions, lateStart } from './operate/reschedule-options.js';
import { type StatusCondition, statusOf } from './operate/status-condition.js';
import type { ForeignRedisClient, RedisClient } from './redis/redis-client.js';
import { LARGEST_PAGE } from './runtime/bounds.js';
import { storeOf } from './store-of.js';
import type {
  CancelOutcome,
  RemoveOutcome,
  RescheduleOutcome,
  RestartOutcome,
  UpdateOutcome,
} from './store/call-outcomes.js';
import { OpenQueue } from './store/open-queue.js';
import type { CallLimit, QueueStore } from './store/queue-store.js';
import type { StoreCall } from './store/store-call.js';
import type { StoreCalls } from './store/store-calls.js';
import { checkQueueName, checkText } from './validation/names.js';
import { checkCount, checkOptions } from './validation/validate-options.js';

/** The most urgent priority. */
const HIGHEST_PRIORITY = 1_000;

/**
 * The verbs of operators for a queue: read it, and change its jobs from outside. JobQueue adds the verbs of producers and
 * consumers.
 */
export abstract class QueueAdmin {
  /** The options, with their defaults. @internal */
  readonly options: ResolvedQueueOptions;
  /** The store of the queue. @internal */
  readonly store: QueueStore;
  /** The limits of the queue for the whole fleet. */
  readonly limits: Limits = new Limits(this);
  /** The figures of each minute of the last 72 hours. */
  readonly history: History = new History(this);
  /** The transitions of the queue's jobs, where the option `auditTrail` writes them down. */
  readonly auditTrail: AuditTrail = new AuditTrail(this);
  /** The groups of the queue, whose jobs take turns. */
  readonly groups: Groups = new Groups(this);
  /** The permanently failed jobs. */
  readonly deadLetters: DeadLetters = new DeadLetters(this);
  private readonly open: OpenQueue;
  private readonly canceller = new Canceller(this);

  /** @internal */
  constructor(
    client: RedisClient | ForeignRedisClient | QueueStore,
    /** The name of the queue. */
    readonly name: string,
    options: QueueOptions,
  ) {
    checkQueueName(name);
    this.options = resolveQueueOptions(`queue ${JSON.stringify(name)}`, options);
    this.store = storeOf(client);
    this.open = new OpenQueue(name, this.options, this.store);
  }

  /**
   * Returns one page of the jobs in one state. Pending jobs are in the order of their claims, scheduled jobs by due
   * time, processing jobs by expiry. Ended ones come newest first.
   *
   * A filter reads all jobs of the state, in slices of 500, until the page is full.
   *
   * @param options.limit at most 1,000. Default 50
   * @throws InvalidOptionError
   * @example await queue.list('completed', { name: 'email', metadata: { tenant: 'acme' }, newerThanMs: 3_600_000 });
   */
  async list(status: JobStatus, options: ListOptions = {}): Promise<JobRecord[]> {
    if (!JOB_STATUSES.includes(status)) {
      throw new InvalidOptionError('list status', JOB_STATUSES.join(', '), show(status));
    }
    return findJobs(this, status, options);
  }

  /** Returns depths, ages and counters, at a cost that does not grow with the queue. */
  async stats(): Promise<QueueStats> {
    return this.exec((calls) => calls.stats());
  }

  /** Returns the live workers of the queue, at most 1,000: where they run, since when, and their stuck jobs. */
  async workers(): Promise<WorkerRecord[]> {
    return this.exec((calls) => calls.workers.list(LARGEST_PAGE));
  }

  /** Returns the record of a job, or null for an unknown one. */
  async get(id: string): Promise<JobRecord | null> {
    checkText('job id', id);
    return this.exec((calls) => calls.get(id));
  }

  /**
   * Deletes a job with all its traces. A claimed one is refused (`processing`): cancel it first.
   *
   * @param options.ifStatus deletes no job in another status (`changed`)
   */
  async remove(id: string, options: StatusCondition = {}): Promise<RemoveOutcome> {
    checkText('job id', id);
    const ifStatus = statusOf('remove', options);
    return this.exec((calls) => calls.remove(id, ifStatus));
  }

  /**
   * Gives a waiting job a new start: `{ delayMs }` from now, or `{ runAt }`. See also `promote`.
   *
   * @throws InvalidOptionError, also for a start by which the job would have expired. Nothing is changed
   */
  async reschedule(id: string, start: Start): Promise<RescheduleOutcome> {
    checkText('job id', id);
    const due = checkRescheduleOptions(start);
    const reply = await this.exec((calls) => calls.reschedule(id, due));
    if (typeof reply === 'object') {
      throw lateStart(start, reply);
    }
    return reply;
  }

  /**
   * Starts a scheduled job now. A pending job keeps its place.
   *
   * @returns `pending`; `refused` for a running or ended job; `missing`
   * @example await queue.promote(id);
   */
  async promote(id: string): Promise<RestartOutcome> {
    checkText('job id', id);
    return this.exec((calls) => calls.promote(id));
  }

  /**
   * Replaces the payload of a pending or scheduled job. Its place and its options stay. Its checkpoint is deleted.
   *
   * @param definition the job's definition, by which the payload is checked. JobQueueService finds the definition of
   *   this process's handler itself
   * @returns `updated`; `refused` for a running or ended job, or one with another name than the definition's; `missing`
   * @throws InvalidPayloadError with the path of the fault. Nothing was changed
   * @example await queue.update(id, { to: 'ada@example.com' });
   * @example await queue.update(SendEmail, id, { to: 'ada@example.com' });
   */
  async update<Definition extends JobDefinition>(
    definition: Definition,
    id: string,
    payload: PayloadInput<Definition>,
  ): Promise<UpdateOutcome>;
  /** Does the same by the id alone: no schema checks the payload. */
  async update(id: string, payload: unknown): Promise<UpdateOutcome>;
  async update(first: string | JobDefinition, ...rest: unknown[]): Promise<UpdateOutcome> {
    return updateJob(this, first, rest);
  }

  /**
   * Changes the priority of a waiting job. It goes to the back of that priority, and keeps its age. Removing one job
   * from a long queue is O(its length).
   *
   * @param priority 0 to 1,000; higher is more urgent, 0 is none
   * @returns `updated`; `refused` for a running or ended job; `missing`
   * @throws InvalidOptionError
   */
  async setPriority(id: string, priority: number): Promise<UpdateOutcome> {
    checkText('job id', id);
    checkCount('priority', priority, 0, HIGHEST_PRIORITY);
    return this.exec((calls) => calls.setPriority(id, priority));
  }

  /**
   * Runs a completed or cancelled job again with its id, payload and options, and all its attempts. Its result is
   * deleted. Its attempt log stays. The job must still be known, see `resultTtlMs`. Dead letters have `redrive`.
   *
   * @returns `pending`; `refused` for a job in another state; `missing`
   * @example await queue.runAgain(id);
   */
  async runAgain(id: string): Promise<RestartOutcome> {
    checkText('job id', id);
    const request = this.store.clock.randomId();
    return this.exec((calls) => calls.runAgain(id, request));
  }

  /**
   * Cancels a job. A waiting one ends at once. A running one gets an aborted signal (`requested`), at once in this process
   * and within a second in another. Removing one job from a long queue is O(its length).
   *
   * @param options.ifStatus leaves a job in another status alone (`changed`), such as a job that was claimed since
   */
  async cancel(id: string, options: StatusCondition = {}): Promise<CancelOutcome> {
    checkText('job id', id);
    return this.canceller.cancel(id, statusOf('cancel', options));
  }

  /**
   * Calls the listener once with each waiting job that `cancel` of this object ends. That holds even if the first reply
   * was lost and a repeat found the job cancelled. The worker of a running job emits its cancel. Returns a function
   * that unsubscribes.
   *
   * @internal
   */
  onCancelled(listener: (job: JobRecord) => void): () => void {
    return this.canceller.listen(listener);
  }

  /**
   * Deletes old jobs of one state, in bounded slices. The age counts from the end of a completed, failed or cancelled
   * job. For a pending one it counts from when it became claimable, for a scheduled one from the enqueue. Running jobs
   * are not cleaned: cancel them.
   *
   * `clean('pending')` and `clean('scheduled')` are BullMQ's `drain`, and `purge` is its `obliterate`.
   *
   * @param options.olderThanMs the minimum age, in ms. Default 0: all
   * @param options.limit the most jobs to delete. Default: all that are old enough
   * @returns how many were deleted
   * @throws InvalidOptionError
   * @example await queue.clean('completed', { olderThanMs: 60_000 });
   */
  async clean(status: CleanableStatus, options?: CleanOptions): Promise<number> {
    return clean(this, status, options);
  }

  /**
   * Pauses the queue for the whole fleet: it accepts jobs and hands none out. Returns false if it was already paused,
   * and keeps the first pause's author and reason.
   *
   * @throws InvalidOptionError
   * @example await queue.pause({ by: 'ada', reason: 'the mail provider is down' });
   */
  async pause(options: PauseOptions = {}): Promise<boolean> {
    const checked = checkOptions('pause', pauseOptions, options);
    return this.exec((calls) => calls.pause(checked));
  }

  /** Ends a pause. False when it was not paused. */
  async resume(): Promise<boolean> {
    return this.exec((calls) => calls.resume());
  }

  /**
   * Deletes all jobs of the queue, in every state, in bounded slices. Only its counters stay.
   *
   * @param options.confirm the queue's name, against accidents
   * @returns how many were deleted
   */
  async purge(options: { confirm: string }): Promise<number> {
    return purge(this, options);
  }

  /**
   * Audits the queue beside live traffic. It finds jobs in no place or in two, ids without a job, stuck unique keys and
   * wrong counters. It works in small steps, and its cost grows with the number of keys in the database.
   *
   * With `mend` it repairs what it finds. No job is deleted: doubtful ones become dead letters.
   *
   * @param options see DoctorOptions
   * @throws InvalidOptionError
   * @example
   * const { counts } = await queue.doctor(); // { orphan: 2 }
   * await queue.doctor({ mend: true });
   */
  async doctor(options: DoctorOptions = {}): Promise<DoctorReport> {
    const checked = checkOptions('doctor', doctorSchema, options);
    return this.store.audit(await this.calls(), checked, this.callLimit);
  }

  /** @internal The time limit of a step without its own. */
  get callLimit(): Required<CallLimit> {
    return this.open.callLimit;
  }

  /** @internal Returns the calls of this queue, once the store knows how it is kept. */
  calls(): Promise<StoreCalls> {
    return this.open.calls();
  }

  /** @internal Runs one step. */
  exec<Reply>(build: (calls: StoreCalls) => StoreCall<Reply>, limit?: CallLimit): Promise<Reply> {
    return this.open.exec(build, limit);
  }
}
