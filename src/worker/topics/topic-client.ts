import { isTopicDefinition, type TopicDefinition, type TopicInput } from '../../queue/enqueue/define-topic.js';
import type { JobQueueOptions } from '../../queue/enqueue/enqueue-middleware.js';
import type { JobDefinition } from '../../queue/enqueue/define-job.js';
import type { StartTime } from '../../queue/enqueue/enqueue-options.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import { type ForeignRedisClient, JobQueue, type RedisClient } from '../../queue/job-queue.js';
import { checkTopicName, jobNameOf, PUBLICATIONS, publicationsOf } from '../../queue/model/topic.js';
import { type ListedSubscription, Topics } from '../../queue/operate/topics.js';
import { wholeOfShard } from '../../queue/model/spread.js';
import { DeclaredTopics } from '../../queue/register/declared-topics.js';
import { keptIn } from '../../queue/runtime/collections.js';
import { defineHandler, type TypedHandlerFunction } from '../handlers/define-handler.js';
import { checkHandlerOptions } from '../handlers/handler-options.js';
import type { Handler, HandlerFunction, HandlerOptions } from '../handlers/handler.js';
import type { WorkerQueue } from '../handlers/worker-queue.js';
import { type Publication, type PublishFields, refuseBareContent, TopicPublisher } from './topic-publisher.js';

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
