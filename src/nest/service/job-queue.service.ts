import { Injectable } from '@nestjs/common';
import { Batch } from '../../queue/batches/batch.js';
import type {
  ChunkFor,
  ChunkInput,
  JobDefinition,
  PayloadFor,
  ResultFor,
  ResultOf,
  SignalData,
  SignalName,
} from '../../queue/enqueue/define-job.js';
import type { TopicDefinition, TopicInput } from '../../queue/enqueue/define-topic.js';
import { typedSource } from '../../queue/enqueue/encode-job.js';
import { storedIn, type EnqueueFields, type StartTime } from '../../queue/enqueue/enqueue-options.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { JobRecord } from '../../queue/model/job.js';
import type { PauseOptions } from '../../queue/model/pause.js';
import { ANY_QUEUE } from '../../queue/model/shared-limit.js';
import type { SignalOutcome } from '../../queue/model/signal.js';
import { PUBLICATIONS } from '../../queue/model/topic.js';
import type { SharedLimit } from '../../queue/operate/shared-limit.js';
import { Topics } from '../../queue/operate/topics.js';
import { checkResultOptions, type JobHandle, type ResultOptions } from '../../queue/results/job-handle.js';
import type { ReadStreamOptions } from '../../queue/results/stream-options.js';
import { withCaller } from '../../queue/runtime/with-caller.js';
import type { CancelOutcome } from '../../queue/store/call-outcomes.js';
import type { StatusCondition } from '../../queue/store/job-ref.js';
import type { StoredIn } from '../../queue/store/outbox-writer.js';
import { checkObject } from '../../queue/validation/validate-options.js';
import type { InputOf, OutputOf, StandardSchema } from '../../queue/validation/validate-with-schema.js';
import {
  batchIn,
  findBatchIn,
  shardsOfMembers,
  type JobBatchOptions,
  enqueueInShard,
  itemsOf,
  type QueueFinder,
  refuseOwnIdOfOthers,
} from '../../spread/shard-choice.js';
import { SpreadQueue } from '../../spread/spread-queue.js';
import { type Publication, type PublishOptions, TopicPublisher } from '../../worker/topics.js';
import { addServiceClass } from '../connection/inject-queue.decorator.js';
import { QueueRegistry } from '../connection/queue-registry.js';
import { HandlerRegistry } from '../handlers/handler-registry.js';
import { UnusedNames } from '../lifecycle/unused-names.js';
import { WorkerLifecycle } from '../lifecycle/worker-lifecycle.js';
import {
  optionsFor,
  type EnqueueJobOptions,
  type EnqueueManyOptions,
  type JobsOfAnyName,
  type OneOfManyOptions,
  enqueueMany,
  type ManyArguments,
  checkQueue,
  checkJobAndId,
  chosenQueue,
  onlyQueue,
  takeQueue,
  type QueueChoice,
} from './enqueue-call.js';
import { JobEvents } from './job-events.js';
import { JobSchedules } from './job-schedules.js';
import { JobStream } from './job-stream.js';
import { onceIn, type Once } from './once.js';

/**
 * Enqueues, reads, cancels and awaits jobs, by the definition or the name of the job. `queue(name)` has all other verbs.
 * Finds the queue by the definition, else by the handler in this process, else by the job's name. A call fails with a RedisUnsuitableError if Redis does not reply within the
 * queue's `enqueueTimeoutMs` (5,000), at least a second.
 *
 * @example
 * constructor(private readonly jobs: JobQueueService) {}
 * const job = await this.jobs.enqueue('email', { to: 'ada@example.com' }, { delayMs: 5_000 });
 * const { messageId } = await job.result({ timeoutMs: 10_000 });
 */
@Injectable()
export class JobQueueService {
  /** The job events of the whole fleet: an Observable, and for `for await`. */
  readonly events: JobEvents;
  /** The recurring jobs. */
  readonly schedules: JobSchedules;
  /** Runs the database work of a job once, however often the job runs. Needs JobOutboxModule. */
  readonly once: Once;
  /** The subscriptions of topics, also of apps that do not run now. */
  readonly topics: Topics;
  private readonly publisher: TopicPublisher;
  /** Returns the queue of the members of a batch, or the shard of each. */
  private readonly ofMembers = (
    job: string | JobDefinition,
    queue: string | undefined,
    members: readonly object[],
  ): JobQueue | readonly JobQueue[] => shardsOfMembers(this.find(job, queue), members);
  private readonly finder: QueueFinder = {
    find: (job, queue) => this.find(job, queue),
    spreadOf: (queue) => this.handlers.spreadOf(queue),
  };

  /** @internal */
  constructor(
    private readonly queues: QueueRegistry,
    private readonly handlers: HandlerRegistry,
    private readonly names: UnusedNames,
    /** The worker of this process. @internal */
    private readonly lifecycle: WorkerLifecycle,
  ) {
    queues.targetsOf = this.ofMembers;
    this.once = onceIn(() => queues.outbox);
    this.topics = new Topics(() => queues.reference(PUBLICATIONS));
    this.publisher = new TopicPublisher({
      store: queues.redis.store,
      requested: (name) => queues.requested(name),
      reference: (name) => queues.reference(name),
    });
    handlers.handOn = this.publisher.handler;
    this.events = new JobEvents(queues, queues.redis.connection.logger);
    this.schedules = new JobSchedules({
      of: (job, queue) => this.shardsOf(job, queue)[0]!,
      all: () => queues.all,
    });
  }

  /**
   * Returns a queue. It has all verbs: stats, lists, dead letters, limits, groups, history and doctor among them. One with `spread` acts
   * on all its shards. It refuses each verb whose result would not be exact, see scaling.md.
   *
   * @param job a definition, a job's name, or the name of the queue
   * @throws InvalidOptionError for a name that cannot be part of a key
   * @example await jobs.queue('email').deadLetters.redriveAll({ error: 'ECONNREFUSED' });
   */
  queue(job: string | JobDefinition): JobQueue {
    const found = this.find(job, this.knownOr(job, undefined));
    return found instanceof SpreadQueue ? found.whole : found;
  }

  /** Returns the queue of a call. Without one it is the queue that a text names, if the code of the app names it too. */
  private knownOr(job: string | JobDefinition, queue: string | undefined): string | undefined {
    return queue === undefined && typeof job === 'string' && this.queues.declares(job) ? job : queue;
  }

  /**
   * Returns a limit that queues share, to read, set, change and pause it for the whole fleet.
   *
   * @param name one of `forRoot({ limits })`, or of another app on this Redis
   * @throws InvalidOptionError for a name that cannot be part of a key
   * @example await jobs.limits('openai').pause({ by: 'ada', reason: 'the key is replaced', forMs: 600_000 });
   */
  limits(name: string): SharedLimit {
    // Any queue leads to the Redis and the prefix of the app. No key of it is written.
    return (this.queues.all[0] ?? this.queues.reference(ANY_QUEUE)).sharedLimit(name);
  }

  /**
   * Returns the shards of a queue with `spread`. Each is a queue with all verbs. Any other queue is its only shard.
   *
   * @param job a definition, a job's name, or the name of the queue
   * @example await Promise.all(jobs.shards('ingest').map((shard) => shard.deadLetters.redriveAll()));
   */
  shards(job: string | JobDefinition, options: QueueChoice = {}): readonly JobQueue[] {
    return this.shardsOf(job, this.knownOr(job, onlyQueue('shards', options)));
  }

  /**
   * Returns the shard that has a job, to remove it, redrive it or change it. Of a queue without `spread` the queue itself.
   *
   * @throws RedisUnsuitableError if a shard that may have the job does not reply
   * @example await (await jobs.shardOf('ingest', id)).remove(id);
   */
  async shardOf(job: string | JobDefinition, id: string, options: QueueChoice = {}): Promise<JobQueue> {
    checkJobAndId('shardOf', job, id);
    return this.holder(job, this.knownOr(job, onlyQueue('shardOf', options)), id);
  }

  /** Returns the names of all queues that this process knows: of its handlers, of `forRoot({ queues })`, and those asked for. */
  queueNames(): string[] {
    return this.queues.all.map((queue) => queue.name);
  }

  /**
   * Adds a job. The type argument of `enqueue<Result>('email', …)` is the type of the result, not of the payload. Both
   * types come from a definition.
   *
   * @param job its name, or its definition, by which the compiler knows payload and result
   * @returns a handle: the id, whether the job is new, and its result
   * @throws InvalidPayloadError, InvalidOptionError, RedisOutOfMemoryError: nothing was written. EnqueueError: says
   *   whether it was.
   */
  async enqueue<Result = unknown, Job extends string | JobDefinition = string | JobDefinition>(
    job: Job,
    payload: PayloadFor<Job>,
    options?: EnqueueJobOptions,
  ): Promise<JobHandle<ResultFor<Job, Result>, ChunkFor<Job>>>;
  async enqueue(
    job: string | JobDefinition,
    payload: unknown,
    options: EnqueueJobOptions = {},
  ): Promise<JobHandle> {
    checkObject('enqueue', 'an object of enqueue options', options);
    const { queue, transaction, ordered, ...rest } = options;
    const found = this.find(job, queue);
    try {
      const stored = storedIn('enqueue', { transaction, ordered });
      const asked = { job, payload, stored };
      if (stored && this.queues.hasSpreads) refuseOwnIdOfOthers(this.finder, found, 'enqueue', rest);
      return await (this.queues.hasSpreads
        ? enqueueInShard(this.finder, found, rest, (shard, own) => add(shard, asked, own))
        : add(found as JobQueue, asked, rest));
    } catch (error) {
      throw withCaller(error);
    }
  }

  /**
   * Adds many jobs of one name, at most 500 in one atomic step. All are checked before the first is sent.
   *
   * @returns a handle for each, in their order
   * @throws InvalidPayloadError, InvalidOptionError: nothing was written. EnqueueError, whose `items` have the outcome
   *   of each, if a step failed
   * @example await jobs.enqueueMany('email', users.map((user) => ({ payload: { to: user.mail }, delayMs: 1_000 })));
   */
  async enqueueMany<Result = unknown, Job extends string | JobDefinition = string | JobDefinition>(
    job: Job,
    jobs: readonly ({ payload: PayloadFor<Job> } & OneOfManyOptions)[],
    options?: EnqueueManyOptions,
  ): Promise<JobHandle<ResultFor<Job, Result>, ChunkFor<Job>>[]>;
  /**
   * Adds many jobs of several names and queues. All are checked before the first is sent. Then each queue gets its own,
   * at most 500 in one atomic step.
   *
   * @example await jobs.enqueueMany([{ job: 'email', payload: { to } }, { job: SendSms, payload: { number }, delayMs: 1_000 }]);
   */
  async enqueueMany<Jobs extends readonly (string | JobDefinition)[]>(
    jobs: JobsOfAnyName<Jobs>,
  ): Promise<{
    -readonly [Index in keyof Jobs]: JobHandle<ResultFor<Jobs[Index], unknown>, ChunkFor<Jobs[Index]>>;
  }>;
  async enqueueMany(...asked: ManyArguments): Promise<JobHandle[]> {
    try {
      return await enqueueMany(this.finder, ...asked);
    } catch (error) {
      throw withCaller(error);
    }
  }

  /**
   * Publishes to a topic: each subscription (`@OnTopic`) gets a job of its own, also while its processes are away.
   *
   * @param topic its name, or its definition, by which the compiler knows the payload
   * @throws NoSubscriptionError, InvalidPayloadError, InvalidOptionError: nothing was written. PublishError: some jobs are there,
   *   and a repeat with its `publicationId` adds the others. EnqueueError as `enqueue`
   * @example await jobs.publish('order.paid', { orderId: '17' }, { id: 'paid-17' });
   */
  async publish<Topic extends string | TopicDefinition>(
    topic: Topic,
    payload: TopicInput<Topic>,
    options: PublishOptions = {},
  ): Promise<Publication> {
    try {
      return await this.publisher.publish(topic, payload, options);
    } catch (error) {
      throw withCaller(error);
    }
  }

  /**
   * Makes a batch: jobs of any names and queues, with follow-ups once all of them have ended.
   *
   * @throws InvalidOptionError, InvalidPayloadError
   * @example
   * const batch = this.jobs.batch({ then: { name: 'report', payload: { month } } });
   * await batch.addMany('page', pages.map((page) => ({ payload: { page } })));
   * await batch.seal();
   */
  batch<
    Then extends StandardSchema = StandardSchema,
    OnFailure extends StandardSchema = StandardSchema,
    Finally extends StandardSchema = StandardSchema,
  >(options: JobBatchOptions<Then, OnFailure, Finally>): Batch<string> {
    checkObject('batch', 'an object with then, onFailure, finally, failFast', options);
    const { queue: own, ...batch } = options;
    return batchIn<string>(own === undefined ? undefined : this.find(own, own), batch, {
      ofFollowUp: (job, queue) => {
        const named = queue ?? job;
        return named === undefined ? undefined : this.find(named, queue);
      },
      ofMembers: this.ofMembers,
    });
  }

  /**
   * Returns a batch by its id, to add to it, to read it or to wait for it. Sends no request. With `spread` an own id
   * names no shard. Then the first call on the batch looks for it.
   *
   * @param job the definition or name of a follow-up, or the name of the batch's queue
   */
  findBatch(job: string | JobDefinition, id: string, options: QueueChoice = {}): Batch<string> {
    return findBatchIn(this.find(job, onlyQueue('findBatch', options)), id, this.ofMembers);
  }

  /**
   * Waits for a job's result.
   * @param job its definition, by whose schema the result is read, its name, or the name of its queue
   * @param options.timeoutMs how long to wait, in ms. Default 30,000
   * @throws JobFailedError, JobCancelledError, JobNotFoundError, JobTimeoutError
   * @example const { messageId } = await jobs.result(SendEmail, id, { timeoutMs: 10_000 });
   */
  result<Payload extends StandardSchema, Result extends StandardSchema>(
    job: JobDefinition<Payload, Result>,
    id: string,
    options?: ResultOptions & QueueChoice,
  ): Promise<OutputOf<Result>>;
  /** Waits for the result of a job by its name or queue and its id. */
  result<Result = unknown>(job: string, id: string, options?: ResultOptions & QueueChoice): Promise<Result>;
  async result(
    job: string | JobDefinition,
    id: string,
    options: ResultOptions & QueueChoice = {},
  ): Promise<unknown> {
    checkJobAndId('result', job, id);
    const { queue: name, rest } = takeQueue('result', options);
    const { timeoutMs, signal } = checkResultOptions(rest);
    const target = await this.holder(job, name, id);
    return (typeof job === 'string' ? target : typedSource(target, job)).awaitResult(id, { timeoutMs, signal });
  }

  /**
   * Reads what the handler of a job writes by `job.stream`, or yields, while it runs and afterwards. Ends with the job's result or its
   * error. No chunk is missed or repeated, also over reconnects.
   *
   * @param job its definition, by which result and chunks are typed, its name, or the name of its queue
   * @param options.after the `id` of the last item that the caller has had. Default: from the start
   * @param options.cancelOnLeave true to cancel the job if the reader leaves before its end
   * @throws InvalidOptionError at once, a StreamCursorError for `after`. In the loop: JobNotFoundError, JobFailedError, JobCancelledError
   * @example for await (const item of jobs.stream<string>('chat', id, { after })) if (item.type === 'chunk') show(item.data);
   */
  stream<Definition extends JobDefinition>(
    job: Definition,
    id: string,
    options?: ReadStreamOptions & QueueChoice,
  ): JobStream<ChunkInput<Definition>, ResultOf<Definition>>;
  /** Reads the stream of a job. The caller names the types of chunks and result. The chunks are not checked. */
  stream<Data = unknown, Result = unknown>(
    job: string | JobDefinition,
    id: string,
    options?: ReadStreamOptions & QueueChoice,
  ): JobStream<Data, Result>;
  stream(job: string | JobDefinition, id: string, options: ReadStreamOptions & QueueChoice = {}): JobStream {
    checkJobAndId('stream', job, id);
    const { queue: name, rest } = takeQueue('stream', options);
    const found = this.find(job, name);
    const sourceIn = (target: JobQueue) => (typeof job === 'string' ? target : typedSource(target, job));
    const readIn = (target: JobQueue, signal: AbortSignal | undefined) =>
      target.readStream(id, { ...rest, signal }, sourceIn(target));
    const known = found instanceof SpreadQueue ? found.named(id) : found;
    const any = known ?? (found as SpreadQueue).shards[0]!;
    any.readStream(id, rest, sourceIn(any)); // checks the options
    const read = (signal: AbortSignal | undefined) =>
      known
        ? readIn(known, signal)
        : itemsOf(
            () => (found as SpreadQueue).holderOf(id),
            (each) => readIn(each, signal),
          );
    return new JobStream(this.queues.redis.connection.logger, read, rest.signal);
  }

  /** Returns the record of a job by its definition and its id; null if it is unknown or has expired. */
  get<Payload extends StandardSchema, Result extends StandardSchema>(
    job: JobDefinition<Payload, Result>,
    id: string,
    options?: QueueChoice,
  ): Promise<JobRecord<InputOf<Payload>, InputOf<Result>> | null>;
  /** Returns a job by its name or queue and its id; null if it is unknown or has expired. */
  get<Payload = unknown, Result = unknown>(
    job: string,
    id: string,
    options?: QueueChoice,
  ): Promise<JobRecord<Payload, Result> | null>;
  async get(job: string | JobDefinition, id: string, options: QueueChoice = {}): Promise<JobRecord | null> {
    checkJobAndId('get', job, id);
    return (await this.holder(job, onlyQueue('get', options), id)).get(id);
  }

  /**
   * Cancels a job. A waiting one ends at once. A running one gets an aborted signal (`requested`), at once in this process
   * and within a second in another.
   *
   * @param job its definition, its name, or the name of its queue
   * @param options.ifStatus see JobQueue.cancel
   */
  async cancel(
    job: string | JobDefinition,
    id: string,
    options: StatusCondition & QueueChoice = {},
  ): Promise<CancelOutcome> {
    checkJobAndId('cancel', job, id);
    const { queue, rest } = takeQueue('cancel', options);
    return (await this.holder(job, queue, id)).cancel(id, rest);
  }

  /**
   * Gives a job a signal, from any process. If the job waits for it (`job.waitFor`), it goes on. Otherwise the signal is kept for a
   * later wait. The first signal of a name stays: a second one changes nothing.
   *
   * @param job its definition, its name, or the name of its queue. A definition checks the name and the data
   * @returns `delivered`: the job goes on; `kept`: for a later wait; `known`: the job has a signal of that name
   * @throws see JobQueue.signal
   * @example await jobs.signal(Order, id, 'approved', { by: 'ada' });
   */
  async signal<Job extends string | JobDefinition, Name extends SignalName<Job>>(
    job: Job,
    id: string,
    signal: Name,
    ...rest: [...SignalData<Job, Name>, options?: QueueChoice]
  ): Promise<SignalOutcome>;
  async signal(
    job: string | JobDefinition,
    id: string,
    signal: string,
    ...[data, options = {}]: [data?: unknown, options?: QueueChoice]
  ): Promise<SignalOutcome> {
    checkJobAndId('signal', job, id);
    const target = await this.holder(job, onlyQueue('signal', options), id);
    return typeof job === 'string' ? target.signal(id, signal, data) : target.signal(job, id, signal, data);
  }

  /**
   * Pauses a queue for the whole fleet: it accepts jobs and hands out none. False when it was paused already.
   *
   * @throws InvalidOptionError
   * @example await jobs.pause('email', { by: 'ada', reason: 'the mail provider is down' });
   */
  async pause(job: string | JobDefinition, options: PauseOptions & QueueChoice = {}): Promise<boolean> {
    const { queue, rest } = takeQueue('pause', options);
    const changed = await Promise.all(this.shardsOf(job, queue).map((each) => each.pause(rest)));
    return changed.includes(true);
  }

  /** Ends the pause of a queue. False when it was not paused. */
  async resume(job: string | JobDefinition, options: QueueChoice = {}): Promise<boolean> {
    const shards = this.shardsOf(job, onlyQueue('resume', options));
    const changed = await Promise.all(shards.map((each) => each.resume()));
    return changed.includes(true);
  }

  /**
   * Starts the workers of this process with `forRoot({ worker: 'manual' })`, such as after a cache is warm. Resolves once they
   * run, however long Redis is away. Called during the bootstrap it resolves at once, and they start at its end.
   * Does nothing while they run.
   *
   * @throws InvalidOptionError with `worker: false`, and after `drain()`; the error of a start that cannot succeed
   * @example await app.listen(3000); await warmUp(); await app.get(JobQueueService).startWorkers();
   */
  startWorkers(): Promise<void> {
    return this.lifecycle.startWorkers();
  }

  /** Stops the claims of this process, from one queue or from all. Running jobs and other processes continue. */
  pauseWorker(queue?: string): void {
    checkQueue(queue);
    if (queue !== undefined) this.names.servedHere(queue, 'pauseWorker');
    this.lifecycle.controls.pause(queue);
  }

  /**
   * Sets how many jobs of a queue this process runs at once, until it ends. Jobs beyond a lower number continue.
   * Handlers in threads keep their number of threads.
   *
   * @throws InvalidOptionError for a queue without a handler here. Also for a number that is not whole and from 1 to
   * 100,000
   * @example jobs.setConcurrency('email', 20);
   */
  setConcurrency(job: string | JobDefinition, concurrency: number, options: QueueChoice = {}): void {
    this.lifecycle.setConcurrency(this.find(job, onlyQueue('setConcurrency', options)).name, concurrency);
  }

  /** Lets this process claim again. */
  resumeWorker(queue?: string): void {
    checkQueue(queue);
    this.lifecycle.controls.resume(queue);
  }

  /**
   * Stops this process's worker permanently. It stops claiming, gives running handlers `shutdownTimeoutMs`, then
   * releases unfinished jobs. Enqueues still work. `app.close()` calls it first.
   */
  drain(): Promise<void> {
    return this.lifecycle.drain();
  }

  /** Returns the queue of a call, or its shards. */
  private find(job: string | JobDefinition, queue: string | undefined): JobQueue | SpreadQueue {
    const name = chosenQueue(job, queue, (each) => this.handlers.queueOf(each));
    return this.handlers.spreadOf(name) ?? this.queues.requested(name);
  }

  /** Returns the queue, or the shard, that has a job. */
  private async holder(job: string | JobDefinition, queue: string | undefined, id: string): Promise<JobQueue> {
    const found = this.find(job, queue);
    return found instanceof SpreadQueue ? found.holderOf(id) : found;
  }

  private shardsOf(job: string | JobDefinition, queue: string | undefined): readonly JobQueue[] {
    const found = this.find(job, queue);
    return found instanceof SpreadQueue ? found.shards : [found];
  }
}

/** A job of an enqueue. */
interface RequestedJob {
  readonly job: string | JobDefinition;
  readonly payload: unknown;
  readonly stored: StoredIn | undefined;
}

/** Enqueues one job in a queue. */
function add(
  queue: JobQueue,
  { job, payload, stored }: RequestedJob,
  options: Omit<EnqueueFields, 'name'> & StartTime,
): Promise<JobHandle> {
  return typeof job === 'string'
    ? queue.producer.one(undefined, payload, optionsFor(queue, job, options, 'enqueue'), stored)
    : queue.producer.one(job, payload, options, stored);
}

addServiceClass(JobQueueService);
