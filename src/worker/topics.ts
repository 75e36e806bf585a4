// Topics: their publications, a job for each subscription, and the client without Nest; see docs/internals/topics.md.
import { z } from 'zod';
import type { JobDefinition } from '../queue/enqueue/define-job.js';
import { isTopicDefinition, type TopicDefinition, type TopicInput } from '../queue/enqueue/define-topic.js';
import { PUBLISH as SUBJECT } from '../queue/enqueue/encode-job.js';
import type { JobQueueOptions } from '../queue/enqueue/enqueue-middleware.js';
import { enqueueMixed, type MixedJob } from '../queue/enqueue/enqueue-mixed.js';
import {
  type StartTime,
  type EnqueueFields,
  type EnqueueOptions,
  refuseContradictions,
  storedIn,
} from '../queue/enqueue/enqueue-options.js';
import {
  EnqueueError,
  type EnqueueItem,
  QueueFullError,
  NoSubscriptionError,
  PublishError,
} from '../queue/errors/enqueue-errors.js';
import { InvalidOptionError } from '../queue/errors/errors.js';
import { show } from '../queue/errors/show.js';
import { keptIn } from '../queue/runtime/collections.js';
import { type ForeignRedisClient, JobQueue, type RedisClient } from '../queue/job-queue.js';
import { jobFieldsAt } from '../queue/model/job-options.js';
import { wholeOfShard, shardNames, shardOfKey } from '../queue/model/spread.js';
import {
  checkTopicName,
  jobNameOf,
  PUBLICATIONS,
  publicationsOf,
  checkPublicationId,
  jobIdOf,
  publicationIdOf,
  type TopicSubscription,
} from '../queue/model/topic.js';
import { type ListedSubscription, Topics, isAt } from '../queue/operate/topics.js';
import { DeclaredTopics } from '../queue/register/declared-topics.js';
import type { JobHandle } from '../queue/results/job-handle.js';
import type { QueueStore } from '../queue/store/queue-store.js';
import { checkOptions } from '../queue/validation/validate-options.js';
import { defineHandler, type TypedHandlerFunction, checkHandlerOptions } from './handlers/define-handler.js';
import type { Handler, HandlerFunction, HandlerOptions, WorkerQueue } from './handlers/handler.js';
import type { Job } from './handlers/job.js';
import { toNonRetryable } from './handlers/non-retryable.js';

/** The options of a TopicClient. They are those of its queues. */
export interface TopicClientOptions extends JobQueueOptions {
  /** The queues of subscriptions that have options of their own. @default none */
  queues?: readonly JobQueue[] | undefined;
}

/** The options of a subscription, which are those of its handler too. */
export interface SubscribeOptions extends HandlerOptions {
  /** The queue of its jobs. @default a queue of its own, named as topic and subscription: `order.paid/receipts` */
  queue?: string | undefined;
  /** The number of jobs of its queue that a process runs at once. @default 10 */
  concurrency?: number | undefined;
}

interface ServedQueue extends WorkerQueue {
  handlers: Record<string, Handler>;
}

/**
 * Publishes to topics and subscribes to them, without Nest. Shares topics with the apps of the same Redis.
 *
 * @example
 * const topics = new TopicClient(redis);
 * topics.subscribe(OrderPaid, 'receipts', (job) => send(job.payload.orderId), { maxAttempts: 5 });
 * const worker = new Worker(topics.workerQueues());
 * await worker.start();
 * await topics.publish(OrderPaid, { orderId: '17', amount: 20 }, { id: 'paid-17' });
 */
export class TopicClient {
  private readonly queues = new Map<string, JobQueue>();
  private readonly made: JobQueue[] = [];
  /** What a worker serves, by queue. */
  private readonly served = new Map<string, ServedQueue>();
  private readonly publisher: TopicPublisher;
  private readonly topics = new Topics(() => this.register);
  private readonly options: JobQueueOptions;

  /**
   * @param client an ioredis client of yours; it is never closed here
   * @throws InvalidOptionError
   */
  constructor(
    private readonly client: RedisClient | ForeignRedisClient,
    { queues = [], ...options }: TopicClientOptions = {},
  ) {
    if (!Array.isArray(queues) || !queues.every((queue) => queue instanceof JobQueue)) {
      throw new InvalidOptionError('TopicClient.queues', 'a list of JobQueues', show(queues));
    }
    this.options = options;
    queues.forEach((queue) => this.queues.set(queue.name, queue));
    const queueOf = (name: string) => this.queueOf(name);
    this.publisher = new TopicPublisher({ store: this.register.store, requested: queueOf, reference: queueOf });
  }

  /**
   * Publishes to a topic: each subscription gets a job of its own.
   *
   * @param topic its name, or its definition, by which the compiler knows the payload
   * @throws NoSubscriptionError, InvalidOptionError, InvalidPayloadError: nothing was written. PublishError: publish again with its id
   */
  publish<Topic extends string | TopicDefinition>(
    topic: Topic,
    payload: TopicInput<Topic>,
    options: Omit<PublishFields, 'transaction' | 'ordered'> & StartTime = {},
  ): Promise<Publication> {
    return this.publisher.publish(topic, payload, options);
  }

  /**
   * Subscribes to a topic. The subscription begins when a worker of `workerQueues` starts, or `declare` has written it.
   *
   * @param subscription its name, among those of the topic in the fleet
   * @throws InvalidOptionError
   */
  subscribe<Topic extends TopicDefinition>(
    topic: Topic,
    subscription: string,
    handle: TypedHandlerFunction<JobDefinition<Topic['payload']>>,
    options?: SubscribeOptions,
  ): void;
  /** Subscribes to a topic by its name. */
  subscribe(topic: string, subscription: string, handle: HandlerFunction, options?: SubscribeOptions): void;
  subscribe(
    topic: string | TopicDefinition,
    subscription: string,
    handle: HandlerFunction,
    { queue, concurrency, ...options }: SubscribeOptions = {},
  ): void {
    const name = isTopicDefinition(topic) ? topic.name : topic;
    checkTopicName('subscribe.topic', name);
    checkTopicName('subscribe.subscription', subscription);
    const jobName = jobNameOf({ topic: name, name: subscription });
    const target = this.queueOf(queue ?? jobName);
    const subject = `subscribe(${show(name)}, ${show(subscription)})`;
    if (this.served.get(target.name)?.handlers[jobName]) {
      throw new InvalidOptionError(subject, 'one call for each subscription', 'a second one');
    }
    const publications = publicationsOf(name);
    refuseBareContent(subject, target, this.queueOf(publications));
    const handler = isTopicDefinition(topic)
      ? defineHandler(topic.jobsOf(jobName), handle as never, options)
      : { ...checkHandlerOptions(subject, options), handle };
    const served = keptIn(this.served, target.name, (): ServedQueue => ({ queue: target, handlers: {} }));
    served.handlers[jobName] = handler;
    served.concurrency = concurrency ?? served.concurrency;
    this.served.set(publications, {
      queue: this.queueOf(publications),
      handlers: { [name]: this.publisher.handler },
    });
    const { prefix, hashTag } = target.options;
    const { register } = this;
    const place = { prefix, ...(hashTag !== undefined && { hashTag }) };
    const declared = { topic: name, name: subscription, queue: target.name, ...place };
    DeclaredTopics.of(register.store).add(register, declared);
  }

  /** Returns the queues of the subscriptions, and those of the publications that a worker hands on: `new Worker(topics.workerQueues())`. */
  workerQueues(): WorkerQueue[] {
    return [...this.served.values()];
  }

  /** Declares the subscriptions without a worker, so that they get publications from now on. Adds later what Redis has lost. */
  async declare(): Promise<void> {
    const topics = DeclaredTopics.of(this.register.store);
    await topics.whenWritten();
    topics.keepAdding(this);
  }

  /** Returns the subscriptions of a topic, or of all topics, also those of other programs. */
  list(topic?: string): Promise<ListedSubscription[]> {
    return this.topics.list(topic);
  }

  /**
   * Ends a subscription whose code is gone: later publications add no job for it. Returns false if there was none.
   *
   * @throws InvalidOptionError while a live worker handles it, or if its queue cannot be read
   */
  remove(topic: string, subscription: string): Promise<boolean> {
    return this.topics.remove(topic, subscription);
  }

  /** Closes the connections that its queues have opened. The client stays open. */
  close(): void {
    DeclaredTopics.of(this.register.store).end(this);
    this.made.forEach((queue) => queue.close());
  }

  private get register(): JobQueue {
    return this.queueOf(PUBLICATIONS);
  }

  private queueOf(name: string): JobQueue {
    return keptIn(this.queues, name, () => {
      const isOfOneTopic = name.startsWith(`${PUBLICATIONS}/`);
      const inOrder = isOfOneTopic && { groups: { maxRunning: 1 } }; // keeps the order of a group
      const queue = new JobQueue(this.client, name, { ...this.options, ...inOrder });
      const whole = this.queues.get(wholeOfShard(name)); // a shard has the options of its queue
      if (whole) Object.assign(queue.options, whole.options);
      this.made.push(queue);
      return queue;
    });
  }
}

/** Options of a publication, but for the start of its jobs. */
export interface PublishFields extends Pick<EnqueueFields, 'group' | 'metadata'> {
  /** An id of your own, of at most 64 characters. A publication with the same id adds no job twice. @default a random one */
  id?: string | undefined;
  /**
   * The effect of a topic without a subscription. `fail`: it throws a NoSubscriptionError. `ignore`: nothing is added.
   * @default `fail`
   */
  ifNone?: 'fail' | 'ignore' | undefined;
  /**
   * Who adds the jobs. `caller`: this call, before it returns. `worker`: a worker of any subscription of the topic. Redis has the publication in
   * one step, so the death of this process cannot leave a part of the jobs.
   * @default `caller`; `worker` with `transaction`
   */
  fanOut?: 'caller' | 'worker' | undefined;
  /** An open transaction of the app's database: the publication is there if it commits. Needs JobOutboxModule. */
  transaction?: object | undefined;
  /** True if the publications of a `group` keep the order of their commits. Needs `transaction` and `group`. @default false */
  ordered?: boolean | undefined;
}

/** Options of a publication. */
export type PublishOptions = PublishFields & StartTime;

/** What was published. */
export interface Publication {
  /** Its id: publish again with it after an error. */
  id: string;
  /** The job of each subscription; empty if a worker adds them. */
  jobs: readonly JobHandle[];
}

const jobFields = jobFieldsAt('enqueue');

const publishOptionsSchema = z.strictObject(
  {
    id: jobFields.id,
    group: jobFields.group,
    metadata: jobFields.metadata,
    delayMs: jobFields.delayMs,
    runAt: jobFields.runAt,
    ifNone: z.enum(['fail', 'ignore'], { error: "expected 'fail' or 'ignore'" }).optional(),
    fanOut: z.enum(['caller', 'worker'], { error: "expected 'caller' or 'worker'" }).optional(),
    transaction: z.unknown().optional(),
    ordered: z.unknown().optional(),
  },
  { error: 'expected an object of publish options' },
);

/** The metadata by which a publication tells its worker what to do without a subscription. */
const IF_NONE_FIELD = 'nest-job-queue.if-none';

/** A publication on its way to the subscriptions. */
interface Outgoing {
  topic: string | TopicDefinition;
  id: string;
  payload: unknown;
  /** The options of each job. */
  options: Omit<PublishOptions, 'id' | 'ifNone' | 'fanOut' | 'transaction' | 'ordered'>;
  ifNone: PublishFields['ifNone'];
}

/** The queues of a process that publishes. @internal */
interface TopicQueues {
  readonly store: QueueStore;
  /** Returns the queue of a subscription. */
  requested(name: string): JobQueue;
  /** Returns a queue of the register, or of publications. */
  reference(name: string): JobQueue;
}

/** The retries of a fan-out: no fault of some hours ends a publication. */
const FAN_OUT_RETRIES = {
  maxAttempts: 1_000,
  backoff: { type: 'exponential', delayMs: 1_000, maxDelayMs: 60_000 },
} as const;

/** Publishes to topics of one Redis. @internal */
export class TopicPublisher {
  /** The names of the shards of queues, as the register had their number last. */
  private readonly shards = new Map<string, string[]>();

  constructor(private readonly queues: TopicQueues) {}

  /** See JobQueueService.publish. */
  async publish(topic: string | TopicDefinition, payload: unknown, given: PublishOptions): Promise<Publication> {
    const name = nameOf(topic);
    checkTopicName('topic', name);
    const checked = checkOptions(SUBJECT, publishOptionsSchema, given) as PublishOptions;
    const { id: own = this.queues.store.clock.randomId(), ifNone, fanOut, ...rest } = checked;
    const { transaction, ordered, ...options } = rest;
    checkPublicationId(own);
    refuseContradictions(SUBJECT, options);
    const outgoing = { topic, id: own, payload, options, ifNone } as Outgoing;
    const stored = storedIn(SUBJECT, { transaction, ordered });
    if (stored && fanOut === 'caller') {
      throw new InvalidOptionError('publish.fanOut', "'worker' beside transaction", "'caller'");
    }
    // Nothing waits for Redis within an open transaction.
    if (!stored) await DeclaredTopics.of(this.queues.store).whenWritten();
    if (stored || fanOut === 'worker') {
      await this.handOver(outgoing, stored);
      return { id: own, jobs: [] };
    }
    return { id: own, jobs: await this.addJobs(outgoing) };
  }

  /** The handler of publications that were handed over. It adds their jobs. */
  readonly handler: Handler = { ...FAN_OUT_RETRIES, handle: (job) => this.handOn(job) };

  private async handOn(job: Job): Promise<{ jobs: number }> {
    const { [IF_NONE_FIELD]: ifNone, ...kept } = job.metadata;
    const options = { group: job.group, metadata: Object.keys(kept).length > 0 ? kept : undefined };
    const outgoing = { topic: job.name, id: publicationIdOf(job), payload: job.payload, options };
    try {
      const jobs = await this.addJobs({ ...outgoing, ifNone: ifNone as PublishFields['ifNone'] });
      return { jobs: jobs.length };
    } catch (error) {
      throw error instanceof NoSubscriptionError ? toNonRetryable(error) : error;
    }
  }

  /** Gives the publication to a worker as a job, whose id comes of the topic and that of the publication. */
  private async handOver(
    { topic, id: publication, payload, options, ifNone }: Outgoing,
    stored: ReturnType<typeof storedIn>,
  ): Promise<void> {
    const name = nameOf(topic);
    const own = {
      ...options,
      id: jobIdOf(publication, name),
      ...(ifNone === 'ignore' && { metadata: { ...options.metadata, [IF_NONE_FIELD]: ifNone } }),
    } as EnqueueFields & StartTime;
    const { producer } = this.queues.reference(publicationsOf(name));
    try {
      await (isTopicDefinition(topic)
        ? producer.one(topic.jobsOf(name), payload, own, stored)
        : producer.one(undefined, payload, { ...own, name }, stored));
    } catch (error) {
      const isUnclear = error instanceof EnqueueError && error.outcome === 'unknown';
      throw isUnclear ? new PublishError(name, publication, error.items, error) : error;
    }
  }

  /** Returns the queue of a job: that of its subscription, or the shard of its key. The publisher need not know the shards. */
  private targetOf({ queue, shards = 1 }: TopicSubscription, key: string): JobQueue {
    if (shards === 1) {
      return this.queues.requested(queue);
    }
    if (this.shards.get(queue)?.length !== shards) {
      this.shards.set(queue, shardNames(queue, shards));
    }
    const target = this.shardOf(queue, key);
    target.shardOfJob ??= (_subject, options) => {
      const moved = keyOf(options as EnqueueOptions); // by middleware, after the shard was chosen
      return moved === undefined ? undefined : this.shardOf(queue, moved);
    };
    return target;
  }

  private shardOf(queue: string, key: string): JobQueue {
    const names = this.shards.get(queue)!;
    return this.queues.requested(names[shardOfKey(key, names.length)]!);
  }

  private async addJobs({ topic, id: publication, payload, options, ifNone }: Outgoing): Promise<JobHandle[]> {
    const name = nameOf(topic);
    const subscriptions = await this.queues.reference(PUBLICATIONS).topics.of(name);
    if (subscriptions.length === 0 && ifNone !== 'ignore') {
      throw new NoSubscriptionError(name);
    }
    const jobs = subscriptions.map((each): MixedJob => {
      const jobName = jobNameOf(each);
      const own = { ...options, id: jobIdOf(publication, jobName) };
      const target = this.targetOf(each, own.group ?? own.id);
      refuseOtherKeys(each, target);
      const definition = isTopicDefinition(topic) ? topic.jobsOf(jobName) : undefined;
      const ofName = definition || target.name === jobName ? undefined : { name: jobName };
      return { subject: SUBJECT, target, definition, payload, options: { ...own, ...ofName } as EnqueueOptions };
    });
    try {
      return await enqueueMixed(jobs);
    } catch (error) {
      throw explained(error, name, publication);
    }
  }
}

/** Returns the option of a job that decides its shard. */
function keyOf(job: EnqueueOptions): string | undefined {
  return job.group ?? job.unique?.key ?? job.id;
}

function nameOf(topic: string | TopicDefinition): string {
  return isTopicDefinition(topic) ? topic.name : topic;
}

/** Returns the error of a call that adds the jobs, in the words of a publication. */
function explained(error: unknown, topic: string, publication: string): unknown {
  const items: readonly EnqueueItem[] =
    error instanceof EnqueueError || error instanceof QueueFullError ? error.items : [];
  const isHalf = items.some(({ outcome }) => outcome !== 'not-sent');
  return isHalf ? new PublishError(topic, publication, items, error as Error) : error;
}

/** @throws InvalidOptionError if publications lack a codec or redact of their jobs' queue @internal */
export function refuseBareContent(subject: string, { name, options }: JobQueue, publications: JobQueue): void {
  const { codec, redact } = publications.options;
  const hides = (field: string) => redact !== undefined && (!Array.isArray(redact) || redact.includes(field));
  const lacksRedact = Array.isArray(options.redact)
    ? !options.redact.every(hides)
    : options.redact !== undefined && options.redact !== redact;
  const lacksCodec = options.codec !== undefined && options.codec.name !== codec?.name;
  const lacking = lacksCodec ? 'codec' : lacksRedact ? 'redact' : undefined;
  if (lacking) {
    throw new InvalidOptionError(
      `${lacking} of queue ${show(publications.name)}`,
      `the ${lacking} of queue ${show(name)}, which ${subject} subscribes with`,
      lacksCodec && codec ? `the codec ${show(codec.name)}` : 'none that covers it',
      'Set codec and redact for all queues, in forRoot itself, or in its queues for the queue of publications too.',
    );
  }
}

/** @throws InvalidOptionError if the workers read other keys than those to which this process would add the jobs */
function refuseOtherKeys(subscription: TopicSubscription, target: JobQueue): void {
  if (!isAt(subscription, target)) {
    const { options, store, name } = target;
    const { prefix = options.prefix, hashTag } = subscription;
    const subject = `the keys of queue ${show(name)}, to which ${show(jobNameOf(subscription))} subscribes`;
    const found = { prefix: options.prefix, hashTag: options.hashTag ?? store.isSharded };
    const hint =
      'Give the queue the same prefix and hashTag here as in the app of the subscription, in forRoot({ queues }).';
    throw new InvalidOptionError(subject, JSON.stringify({ prefix, hashTag }), JSON.stringify(found), hint);
  }
}
