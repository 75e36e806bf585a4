import { ActionLog } from './actions/action-log.js';
import { onTarget } from './actions/noted-action.js';
import type { JobDefinition, PayloadInput, SignalData, SignalName } from './enqueue/define-job.js';
import { updateJob } from './enqueue/update-job.js';
import { EncryptedQueueError } from './errors/enqueue-errors.js';
import { InvalidOptionError, QueueLayoutError } from './errors/errors.js';
import { show } from './errors/show.js';
import type { ActionName } from './model/actions.js';
import type { JobOutcome } from './model/job-event.js';
import type { ClaimedJob, JobRecord } from './model/job.js';
import type { SignalOutcome } from './model/signal.js';
import { type QueueOptions, type ResolvedQueueOptions, resolveQueueOptions } from './model/queue-options.js';
import { Canceller, statusOf } from './operate/canceller.js';
import { deliverPosted, tryToDeliver } from './operate/maintain-batches.js';
import { sendSignal } from './enqueue/send-signal.js';
import { type Start, checkRescheduleOptions, lateStart } from './operate/reschedule-options.js';
import { RedisStore } from './redis-store.js';
import { type ForeignRedisClient, type RedisClient, isRedisClient } from './redis/redis-client.js';
import { SHORTEST_TRIP_MS } from './runtime/bounds.js';
import type {
  CancelOutcome,
  RemoveOutcome,
  RescheduleOutcome,
  RestartOutcome,
  UpdateOutcome,
} from './store/call-outcomes.js';
import { codedCalls, watchContent } from './store/coded-calls.js';
import type { StatusCondition } from './store/job-ref.js';
import { afterLayoutCheck } from './store/layout-check.js';
import type { CallLimit, QueueStore } from './store/queue-store.js';
import type { StoreCall } from './store/store-call.js';
import type { StoreCalls } from './store/store-calls.js';
import type { ActionAuthor } from './store/action-entry.js';
import { checkQueueName, checkText, isId } from './validation/names.js';
import { checkCount } from './validation/validate-options.js';

/** The most urgent priority. */
const HIGHEST_PRIORITY = 1_000;

/** The verbs of operators for one job, by its id. QueueAdmin adds those for the whole queue. */
export abstract class JobAdmin {
  /** Who did what to the queue. */
  get actionLog(): ActionLog {
    return (this.madeLog ??= new ActionLog(this));
  }

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
  /** Returns what to say of a name that no live worker handles; '' for nothing. Absent without Nest. @internal */
  unservedHint?: (job: string) => string;
  /** Called at the next use of a queue that its process has let go of. Absent otherwise. @internal */
  onUse?: (() => void) | undefined;
  /** The time limit of a step without its own. @internal */
  readonly callLimit: Required<CallLimit>;
  private opened: StoreCalls | undefined;
  /** True while another version has the queue, whose layout this one cannot use. @internal */
  isRefused = false;
  /** The calls of the first opening. Later ones only check the layout. */
  private kept: StoreCalls | undefined;
  private opening: Promise<StoreCalls> | undefined;
  /** True if the calls were used since the last look at the layout. */
  private isUsed = false;
  /** The calls that refuse content in the clear, by the calls and the object that they were made for. */
  private watched: { of: StoreCalls; by: JobAdmin; calls: StoreCalls } | undefined;
  private madeLog: ActionLog | undefined;
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

  /**
   * Returns the record of a job, or null for an unknown one. The types of payload and result are those that the caller
   * expects: nothing checks them.
   */
  async get<Payload = unknown, Result = unknown>(id: string): Promise<JobRecord<Payload, Result> | null> {
    checkText('job id', id);
    return this.exec((calls) => calls.get({ id })) as Promise<JobRecord<Payload, Result> | null>;
  }

  /**
   * Returns how a job ended, also once its record has gone. Null for a job without an end so far, or that somebody
   * deleted, and without the option `outcomes`. A job that runs again has its former end until it ends again.
   *
   * @example (await queue.get(id)) ?? (await queue.outcome(id)); // did it run?
   */
  async outcome(id: string): Promise<JobOutcome | null> {
    checkText('job id', id);
    return this.exec((calls) => calls.outcome({ id }));
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
      const reply = await this.exec((calls) => calls.remove({ id, ifStatus }));
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
      this.exec((calls) => calls.reschedule({ id, ...due })),
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
    return this.asAction('promote', id, ['pending'], () => this.exec((calls) => calls.promote({ id })));
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
   * Gives a job a signal. If the job waits for it (`job.waitFor`), it goes on. Otherwise the signal is kept for a later wait. The
   * first signal of a name stays: a second one changes nothing.
   *
   * @param definition the job's definition, by which the name and the data are checked. In a Nest app the queue knows the
   *   definition of this process's handler
   * @param data JSON of at most 65,536 bytes. A job has at most 256 signals, of 1,048,576 bytes in all
   * @returns `delivered`: the job goes on; `kept`: for a later wait; `known`: the job has a signal of that name
   * @throws JobNotFoundError; SignalRefusedError for a job that has ended, or whose wait is over. InvalidOptionError for a
   *   signal that the definition does not have, InvalidPayloadError for its data. Nothing was changed
   * @example await queue.signal(id, 'approved', { by: 'ada' });
   * @example await queue.signal(Order, id, 'approved', { by: 'ada' });
   */
  async signal<Definition extends JobDefinition, Name extends SignalName<Definition>>(
    definition: Definition,
    id: string,
    signal: Name,
    ...data: SignalData<Definition, Name>
  ): Promise<SignalOutcome>;
  /** Does the same by the id alone. */
  async signal(id: string, signal: string, data?: unknown): Promise<SignalOutcome>;
  async signal(first: string | JobDefinition, ...rest: unknown[]): Promise<SignalOutcome> {
    const [id, signal] = typeof first === 'string' ? [first, ...rest] : rest;
    const action = onTarget('signal', 'job', String(id), isId(signal) ? signal : undefined);
    return this.actionLog.recordOfJob(action, () => sendSignal(this, first, rest), {
      count: (outcome) => Number(outcome !== 'known'),
    });
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
      this.exec((calls) => calls.setPriority({ id, priority })),
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
    return this.asAction('run-again', id, ['pending'], async () => {
      const outcome = await this.exec((calls) => calls.runAgain({ id, request }));
      await (outcome === 'pending' && tryToDeliver(this)); // its batch in another queue waits for it again
      return outcome;
    });
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
    action: ActionName,
    id: string,
    changes: readonly NoInfer<Outcome>[],
    change: () => Promise<Outcome>,
  ): Promise<Outcome> {
    const count = (outcome: Outcome) => Number(changes.includes(outcome));
    return this.actionLog.recordOfJob(onTarget(action, 'job', id), change, { count });
  }

  /** @internal Returns the calls of this queue, once the store knows how it is kept. */
  async calls(): Promise<StoreCalls> {
    this.isUsed = true;
    const calls = this.opened ?? (await this.open());
    if (this.isPlainWindow) {
      await this.store.exec(calls.content(), this.callLimit);
    }
    return this.permitted(calls);
  }

  /** @internal Returns the calls of this queue for its producer, once windows can know what its payloads hide. */
  async producerCalls(): Promise<StoreCalls> {
    const calls = await this.calls();
    this.store.announceProducer?.(calls);
    return calls;
  }

  /** True if a person acts by this object, in a process without the key of the queue. @internal */
  get isPlainWindow(): boolean {
    return this.author !== undefined && !this.options.codec?.secret;
  }

  private open(): Promise<StoreCalls> {
    this.opening ??= this.store
      .open(this.name, this.options, this.callLimit)
      .then(
        (calls) => this.untilChecked(calls),
        (error: Error) => {
          if (error instanceof QueueLayoutError) this.refuse();
          throw error;
        },
      )
      .finally(() => (this.opening = undefined));
    return this.opening;
  }

  private untilChecked(calls: StoreCalls): StoreCalls {
    afterLayoutCheck(this.store, this, (queue) => queue.checkAgain());
    this.isRefused = false;
    if (this.kept) Object.assign(this.kept.announced, calls.announced);
    return (this.opened = this.kept ??= this.coded(calls));
  }

  /** Reads the layout of a queue in use again, beside its calls. After an error the next call waits, and gets its own. */
  private checkAgain(): void {
    const wasUsed = this.isUsed;
    this.isUsed = false;
    if (wasUsed) {
      this.open().catch(() => (this.opened = undefined));
    } else {
      this.opened = undefined;
    }
  }

  /** True while the layout is read. The calls of before may be those of another layout. @internal */
  get isBeingOpened(): boolean {
    return this.opening !== undefined;
  }

  /** @internal Notes that another version has the queue now. Each call looks again whether it still has. */
  refuse(): void {
    this.opened = undefined;
    this.isRefused = true;
  }

  /** Returns the calls, which refuse content in the clear for an encrypted queue. Code of an app has the option `plainJobs`. */
  private permitted(calls: StoreCalls): StoreCalls {
    if (!this.isPlainWindow && !this.refusesPlainJobs(calls)) {
      return calls;
    }
    if (this.watched?.of !== calls || this.watched.by !== this) {
      const watched = watchContent(calls, this.options.codec, () => this.refusePlain(calls));
      this.watched = { of: calls, by: this, calls: watched };
    }
    return this.watched.calls;
  }

  /** @throws EncryptedQueueError by what the last reading found announced */
  private refusePlain(calls: StoreCalls): void {
    if ((this.isPlainWindow && calls.announced.content?.encrypted) || this.refusesPlainJobs(calls)) {
      throw new EncryptedQueueError(this.name);
    }
  }

  /** Returns whether the codec of this process refuses plain jobs, or that of others by the last reading. */
  private refusesPlainJobs({ announced }: StoreCalls): boolean {
    const { codec } = this.options;
    const { encrypted, plainJobs } = announced.content ?? {};
    return (codec?.secret && codec.plainJobs === 'refuse') || (encrypted === true && plainJobs === 'refuse');
  }

  /** @internal Returns the calls of this queue for a worker, whose announcement checks how the queue is kept. */
  uncheckedCalls(): StoreCalls {
    return this.kept ?? this.coded(this.store.callsOf(this.name, this.options));
  }

  private coded(calls: StoreCalls): StoreCalls {
    return codedCalls(calls, this.options.codec, this.name, plainJobWarning(this));
  }

  /** @internal Runs one step. */
  exec<Reply>(build: (calls: StoreCalls) => StoreCall<Reply>, limit: CallLimit = this.callLimit): Promise<Reply> {
    this.onUse?.();
    this.isUsed = true;
    if (this.isPlainWindow) {
      return this.execOfWindow(build, limit);
    }
    return this.opened && !this.refusesPlainJobs(this.opened)
      ? this.store.exec(build(this.opened), limit)
      : this.calls().then((calls) => this.store.exec(build(calls), limit));
  }

  /** Runs a step. Before one that stores content it reads anew whether the queue is encrypted. */
  private async execOfWindow<Reply>(
    build: (calls: StoreCalls) => StoreCall<Reply>,
    limit: CallLimit,
  ): Promise<Reply> {
    const calls = this.opened ?? (await this.open());
    let hasContent = false;
    const call = build(watchContent(calls, this.options.codec, () => (hasContent = true)));
    if (hasContent) {
      await this.store.exec(calls.content(), limit);
      this.refusePlain(calls);
    }
    return this.store.exec(call, limit);
  }
}

/**
 * Returns the store of a queue: for a client, or the given store itself.
 *
 * @throws InvalidOptionError
 */
function storeOf(client: RedisClient | ForeignRedisClient | QueueStore): QueueStore {
  if (isRedisClient(client)) {
    return RedisStore.of(client);
  }
  if (isStore(client)) {
    return client;
  }
  throw new InvalidOptionError('client', 'a Redis or Cluster of ioredis', show(client));
}

function isStore(value: unknown): value is QueueStore {
  const { exec, clock } = (value ?? {}) as Partial<QueueStore>;
  return typeof exec === 'function' && clock !== undefined;
}

/** The least interval between two such lines of one queue, in ms. */
const QUIET_MS = 60_000;

/** Returns a function that logs that a job of an encrypted queue was stored unencrypted. */
function plainJobWarning(queue: { name: string; store: QueueStore }): (job: ClaimedJob) => void {
  let saidAtMs = -Infinity;
  return ({ id }) => {
    const { clock, logger } = queue.store;
    if (clock.monotonic() - saidAtMs < QUIET_MS) {
      return;
    }
    saidAtMs = clock.monotonic();
    logger.warn(
      `Queue ${show(queue.name)} is encrypted, but job ${show(id)} was stored in the clear: by a process without the codec, by a ` +
        'client of the Redis pattern, or before the queue had the codec. It runs. Give all processes of the queue the codec.',
    );
  };
}

/** The parts of a queue that refer back to it. A getter makes some of them at its first read, for the object that is read. */
const ROOMS = ['actionLog', 'auditTrail', 'deadLetters', 'groups', 'history', 'limits', 'profiles', 'schedules'];

/**
 * Returns a queue with another author of its actions, who is not the author of the given object.
 *
 * @param author null if the caller writes the log
 */
function authoredBy<Queue extends object>(queue: Queue, author: ActionAuthor | null): Queue {
  const view = Object.assign(Object.create(queue) as Queue, { author });
  const rooms = ROOMS.map((name) => [name, (queue as Record<string, unknown>)[name] as object] as const);
  for (const [name, room] of rooms) {
    Object.defineProperty(view, name, { value: Object.assign(Object.create(room) as object, { queue: view }) });
  }
  return view;
}
