import { ActionLog } from './actions/action-log.js';
import { authoredBy } from './actions/author.js';
import { onOne } from './actions/noted-action.js';
import type { JobDefinition, PayloadInput } from './enqueue/define-job.js';
import { updateJob } from './enqueue/update-job.js';
import type { JobOutcome } from './model/job-event.js';
import type { JobRecord } from './model/job.js';
import type { StatusCondition } from './store/job-ref.js';
import { type QueueOptions, type ResolvedQueueOptions, resolveQueueOptions } from './model/queue-options.js';
import { Canceller, statusOf } from './operate/canceller.js';
import { deliverPosted } from './operate/maintain-batches.js';
import { type Start, checkRescheduleOptions, lateStart } from './operate/reschedule-options.js';
import type { ForeignRedisClient, RedisClient } from './redis/redis-client.js';
import { SHORTEST_TRIP_MS } from './runtime/bounds.js';
import { storeOf } from './store-of.js';
import type {
  CancelOutcome,
  RemoveOutcome,
  RescheduleOutcome,
  RestartOutcome,
  UpdateOutcome,
} from './store/call-outcomes.js';
import { codedCalls } from './store/coded-calls.js';
import { plainJobWarning } from './store/plain-job-warning.js';
import type { CallLimit, QueueStore } from './store/queue-store.js';
import type { StoreCall } from './store/store-call.js';
import type { StoreCalls } from './store/store-calls.js';
import type { ActionAuthor } from './store/verbs/action-verbs.js';
import { checkQueueName, checkText } from './validation/names.js';
import { checkCount } from './validation/validate-options.js';

/** The most urgent priority. */
const HIGHEST_PRIORITY = 1_000;

/** The verbs of operators for one job, by its id. QueueAdmin adds those for the whole queue. */
export abstract class JobAdmin {
  /** Who did what to the queue. */
  readonly actionLog: ActionLog = new ActionLog(this);
  /** The author of its actions; undefined for the code of this process, null if the caller writes the log. @internal */
  author?: ActionAuthor | null;
  /** The options, with their defaults. @internal */
  readonly options: ResolvedQueueOptions;
  /** The store of the queue. @internal */
  readonly store: QueueStore;
  /** Returns the definition of the handler of a job's name here, which checks payloads that operators edit. @internal */
  definitionOf?: (job: string) => JobDefinition | undefined;
  /** Looks at the queue's name after a call that changed the queue's state. Absent without Nest. @internal */
  afterChange?: (verb: string) => Promise<void>;
  /** Called at the next use of a queue that its process has let go of. Absent otherwise. @internal */
  onUse?: (() => void) | undefined;
  /** The time limit of a step without its own. @internal */
  readonly callLimit: Required<CallLimit>;
  private opened: StoreCalls | undefined;
  private opening: Promise<StoreCalls> | undefined;
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
    this.callLimit = { timeoutMs: Math.max(SHORTEST_TRIP_MS, this.options.enqueueTimeoutMs) };
  }

  /** Returns the record of a job, or null for an unknown one. */
  async get(id: string): Promise<JobRecord | null> {
    checkText('job id', id);
    return this.exec((calls) => calls.get(id));
  }

  /**
   * Returns how a job ended, also once its record has gone. Null for a job without an end so far, or that somebody
   * deleted, and without the option `outcomes`. A job that runs again has its former end until it ends again.
   *
   * @example (await queue.get(id)) ?? (await queue.outcome(id)); // did it run?
   */
  async outcome(id: string): Promise<JobOutcome | null> {
    checkText('job id', id);
    return this.exec((calls) => calls.outcome(id));
  }

  /**
   * Deletes a job with all its traces. A claimed one is refused (`processing`): cancel it first. A call whose reply was
   * lost is sent again, and then finds its job `missing`.
   *
   * @param options.ifStatus deletes no job in another status (`changed`)
   */
  async remove(id: string, options: StatusCondition = {}): Promise<RemoveOutcome> {
    checkText('job id', id);
    const ifStatus = statusOf('remove', options);
    return this.asAction('remove', id, ['removed'], async () => {
      const reply = await this.exec((calls) => calls.remove(id, ifStatus));
      return reply === 'missing-posted'
        ? deliverPosted<RemoveOutcome>(this, 'posted', 'missing')
        : deliverPosted<RemoveOutcome>(this, reply, 'removed');
    });
  }

  /**
   * Gives a waiting job a new start: `{ delayMs }` from now, or `{ runAt }`. See also `promote`.
   *
   * @throws InvalidOptionError, also for a start by which the job would have expired. Nothing is changed
   */
  async reschedule(id: string, start: Start): Promise<RescheduleOutcome> {
    checkText('job id', id);
    const due = checkRescheduleOptions(start);
    const reply = await this.asAction('reschedule', id, ['scheduled', 'pending'], () =>
      this.exec((calls) => calls.reschedule(id, due)),
    );
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
    return this.asAction('promote', id, ['pending'], () => this.exec((calls) => calls.promote(id)));
  }

  /**
   * Replaces the payload of a pending or scheduled job. Its place and its options stay. Its checkpoint is deleted.
   *
   * @param definition the job's definition, by which the payload is checked. In a Nest app the queue knows the definition
   *   of this process's handler
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
  /** Does the same by the id alone. */
  async update(id: string, payload: unknown): Promise<UpdateOutcome>;
  async update(first: string | JobDefinition, ...rest: unknown[]): Promise<UpdateOutcome> {
    const id = typeof first === 'string' ? first : rest[0];
    return this.asAction('edit', String(id), ['updated'], () => updateJob(this, first, rest));
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
    return this.asAction('set-priority', id, ['updated'], () =>
      this.exec((calls) => calls.setPriority(id, priority)),
    );
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
    return this.asAction('run-again', id, ['pending'], () => this.exec((calls) => calls.runAgain(id, request)));
  }

  /**
   * Cancels a job. A waiting one ends at once. A running one gets an aborted signal (`requested`), at once in this process
   * and within a second in another. Removing one job from a long queue is O(its length).
   *
   * @param options.ifStatus leaves a job in another status alone (`changed`), such as a job that was claimed since
   */
  async cancel(id: string, options: StatusCondition = {}): Promise<CancelOutcome> {
    checkText('job id', id);
    const ifStatus = statusOf('cancel', options);
    return this.asAction('cancel', id, ['cancelled', 'requested'], () => this.canceller.cancel(id, ifStatus));
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

  /** @internal Returns this queue with another author of its actions; null if the caller writes the log. */
  as(author: ActionAuthor | null): this {
    return authoredBy(this, author);
  }

  /**
   * Writes a change of one job to the action log, unless the code of this process makes it.
   *
   * @param changes the outcomes that mean a change
   */
  private asAction<Outcome>(
    action: string,
    id: string,
    changes: readonly NoInfer<Outcome>[],
    deed: () => Promise<Outcome>,
  ): Promise<Outcome> {
    const count = (outcome: Outcome) => Number(changes.includes(outcome));
    return this.actionLog.recordOfJob(onOne(action, 'job', id), deed, { count });
  }

  /** @internal Returns the calls of this queue, once the store knows how it is kept. */
  async calls(): Promise<StoreCalls> {
    if (this.opened) {
      return this.opened;
    }
    this.opening ??= this.store
      .open(this.name, this.options, this.callLimit)
      .then((calls) => (this.opened = this.coded(calls)))
      .finally(() => (this.opening = undefined));
    return this.opening;
  }

  /** @internal Returns the calls of this queue for a worker, whose announcement checks how the queue is kept. */
  uncheckedCalls(): StoreCalls {
    return this.opened ?? this.coded(this.store.callsOf(this.name, this.options));
  }

  private coded(calls: StoreCalls): StoreCalls {
    return codedCalls(calls, this.options.codec, this.name, plainJobWarning(this));
  }

  /** @internal Runs one step. */
  exec<Reply>(build: (calls: StoreCalls) => StoreCall<Reply>, limit: CallLimit = this.callLimit): Promise<Reply> {
    this.onUse?.();
    return this.opened
      ? this.store.exec(build(this.opened), limit)
      : this.calls().then((calls) => this.store.exec(build(calls), limit));
  }
}
