import { JobAdmin } from './job-admin.js';
import { plainJobWarning } from './store/plain-job-warning.js';
import { Canceller } from './operate/cancel.js';
import { checkCount, checkOptions } from './validation/validate-options.js';
import { clean, type CleanableStatus, type CleanOptions } from './operate/clean.js';
import { DeadLetters } from './dead-letters/dead-letters.js';
import type { BatchRecord } from './model/batch.js';
import type { DoctorOptions, DoctorReport } from './model/doctor-report.js';
import { InvalidOptionError, QueueClosedError } from './errors/errors.js';
import type { JobEvent } from './model/job-event.js';
import { JOB_STATUSES, type JobRecord, type JobStatus, type QueueStats } from './model/job.js';
import type { WorkerRecord } from './model/worker-record.js';
import { checkResultOptions, type ResultOptions } from './results/job-handle.js';
import { waitForResult } from './results/wait-for-result.js';
import { LARGEST_PAGE, SHORTEST_TRIP_MS } from './runtime/bounds.js';
import { checkQueueName, checkText } from './validation/names.js';
import { show } from './errors/show.js';
import { resolveQueueOptions, type QueueOptions, type ResolvedQueueOptions } from './model/queue-options.js';
import { purge } from './operate/purge.js';
import type { ForeignRedisClient, RedisClient } from './redis/redis-client.js';
import { AuditTrail } from './operate/audit-trail.js';
import { History } from './operate/history.js';
import { Groups } from './operate/groups.js';
import { doctorSchema } from './operate/doctor-options.js';
import { findJobs, type ListOptions } from './operate/find-jobs.js';
import { listBatches } from './operate/list-batches.js';
import { Limits } from './operate/limits.js';
import { statusOf, type StatusCondition } from './operate/status-condition.js';
import { storeOf } from './store-of.js';
import { Schedules } from './schedules/schedules.js';
import type { CallLimit, QueueStore } from './store/queue-store.js';
import type { StoreCall } from './store/store-call.js';
import { codedCalls } from './store/coded-calls.js';
import type { StoreCalls } from './store/store-calls.js';
import type { CancelAnswer } from './store/call-answers.js';
import { pauseOptions, type PauseOptions } from './model/pause.js';

/** The most entries that one call of a bounded script looks at. */
export const SLICE = 500;

/**
 * The verbs of operators for a queue: read it, and change its jobs from outside. JobQueue adds the verbs of producers and
 * consumers.
 */
export abstract class QueueAdmin extends JobAdmin {
  /** With their defaults. @internal */
  readonly options: ResolvedQueueOptions;
  /** The store of the queue. @internal */
  readonly store: QueueStore;
  /** The recurring jobs of the queue. */
  readonly schedules: Schedules = new Schedules(this);
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
  private opened: StoreCalls | undefined;
  private opening: Promise<StoreCalls> | undefined;
  private readonly canceller = new Canceller(this);
  private readonly pendingResults = new Set<(error: Error) => void>();
  /** @internal */
  protected closed = false;

  /** @internal */
  constructor(
    client: RedisClient | ForeignRedisClient | QueueStore,
    /** The name of the queue. */
    readonly name: string,
    options: QueueOptions,
  ) {
    super();
    checkQueueName(name);
    this.options = resolveQueueOptions(`queue ${JSON.stringify(name)}`, options);
    this.store = storeOf(client);
  }

  /**
   * Returns the calls of this queue, once the store knows how it is kept.
   *
   * @throws RedisUnsuitableError when the server is older than Redis 7.0; QueueLayoutError where a newer version has the queue
   *
   * @internal
   */
  async calls(): Promise<StoreCalls> {
    if (this.opened) {
      return this.opened;
    }
    this.opening ??= this.store
      .open(this.name, this.options, this.limit)
      .then((calls) => (this.opened = codedCalls(calls, this.options.codec, plainJobWarning(this))))
      .finally(() => (this.opening = undefined));
    return this.opening;
  }

  /**
   * Returns one page of the jobs in one state: pending in the order of their claims, scheduled by due time, processing
   * by expiry. Ended ones come newest first.
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

  /** Depths, ages and counters, at a cost that does not grow with the queue. */
  async stats(): Promise<QueueStats> {
    return this.exec((calls) => calls.stats());
  }

  /** Returns the live workers of the queue, at most 1,000: where they run, since when, and their stuck jobs. */
  async workers(): Promise<WorkerRecord[]> {
    return this.exec((calls) => calls.workers(LARGEST_PAGE));
  }

  /**
   * Waits for a job's result; see JobHandle.result.
   *
   * @param name the required name of the job, if the caller expects one kind
   */
  async result(id: string, options: ResultOptions = {}, name?: string): Promise<unknown> {
    checkText('job id', id);
    const { timeoutMs, signal } = checkResultOptions(options);
    const calls = await this.calls();
    if (this.closed) {
      throw new QueueClosedError(this.name);
    }
    const { store } = this;
    const source = {
      queue: this.name,
      name,
      clock: store.clock,
      subscribe:
        this.options.events === 'off'
          ? undefined
          : (listener: (event: JobEvent) => void) => store.subscribe(calls, listener),
      pending: this.pendingResults,
      get: (each: string) => this.get(each),
    };
    return waitForResult(source, id, timeoutMs, signal);
  }

  /**
   * Cancels a job. A waiting one ends at once. A running one gets an aborted signal (`requested`), at once in this process
   * and within a second in another. Removing one job from a long queue is O(its length).
   *
   * @param options.ifStatus leaves a job in another status alone (`changed`), such as a waiting one that a worker has
   *   claimed since
   */
  async cancel(id: string, options: StatusCondition = {}): Promise<CancelAnswer> {
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

  /** Sends dead letters back to work, their attempts reset, at most 1,000 in one call; returns how many. */
  async redrive(ids: readonly string[]): Promise<number> {
    if (!Array.isArray(ids)) {
      throw new InvalidOptionError('ids', 'an array of job ids', show(ids));
    }
    checkCount('ids.length', ids.length, 0, LARGEST_PAGE);
    ids.forEach((id, i) => checkText(`ids[${i}]`, id));
    return this.exec((calls) => calls.redrive(ids));
  }

  /** Lists unfinished batches of this queue, the oldest first, at most `limit` (default 50, at most 1,000). */
  async listBatches(options?: { limit?: number }): Promise<BatchRecord[]> {
    return listBatches(this, options);
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
   * Audits the queue beside live traffic: jobs in no place or in two, ids without a job, stuck unique keys, wrong
   * counters and the like. It works in small steps, and its cost grows with the number of keys in the database.
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
    return this.store.audit(await this.calls(), checked, this.limit);
  }

  /** Rejects current and later waits for results. */
  protected closeResults(): void {
    this.closed = true;
    this.pendingResults.forEach((end) => end(new QueueClosedError(this.name)));
  }

  /** The time limit of a step without its own: `enqueueTimeoutMs`, at least a second. @internal */
  get limit(): Required<CallLimit> {
    return { timeoutMs: Math.max(SHORTEST_TRIP_MS, this.options.enqueueTimeoutMs) };
  }

  /**
   * Runs one step. Without a reply in time it rejects and replaces the connection, because a half-open one would stay
   * silent.
   *
   * @throws RedisUnsuitableError without a reply in time: the step may have been done
   *
   * @internal
   */
  exec<Answer>(build: (calls: StoreCalls) => StoreCall<Answer>, limit: CallLimit = this.limit): Promise<Answer> {
    return this.opened
      ? this.store.exec(build(this.opened), limit)
      : this.calls().then((calls) => this.store.exec(build(calls), limit));
  }
}
