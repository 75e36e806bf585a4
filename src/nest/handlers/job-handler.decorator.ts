import type { InjectionToken, OptionalFactoryDependency, Type } from '@nestjs/common';
import type { JobFailure } from '../../queue/codec/failure-job.js';
import { isJobDefinition, type JobDefinition, type PayloadOf } from '../../queue/enqueue/define-job.js';
import { isTopicDefinition, type TopicDefinition } from '../../queue/enqueue/define-topic.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import type { StreamOptions } from '../../queue/model/job-stream.js';
import type { QueueLimits, RateLimit } from '../../queue/model/limits.js';
import type { Recurrence } from '../../queue/model/schedule.js';
import type { SharedLimitUse } from '../../queue/model/shared-limit.js';
import { checkTopicName, jobNameOf } from '../../queue/model/topic.js';
import type { ScheduleOptions } from '../../queue/schedules/schedule.js';
import { ANY_NAME, isQueueName } from '../../queue/validation/names.js';
import type { TypedBulkFunction, TypedHandlerFunction } from '../../worker/handlers/define-handler.js';
import type { BulkOptions, HandlerOptions } from '../../worker/handlers/handler.js';
import type { Job } from '../../worker/handlers/job.js';
import { DEFAULT_CONNECTION } from '../connection/connection-tokens.js';
import { declareQueue } from '../connection/inject-queue.decorator.js';
import type { ThreadOptions } from './thread-option.js';

// A fixed text, so that classes decorated by another copy of the package are found.
const HANDLER_METADATA = 'nest-job-queue:handlers';

/** Options of a handler. They hold for its jobs where the enqueue did not say otherwise. */
export interface JobHandlerOptions extends HandlerOptions, Omit<QueueLimits, 'rateLimit'> {
  /** The most jobs that start in a period, or up to eight such rates, which all hold; see {@link QueueOptions.rateLimit}. @default without a limit */
  rateLimit?: RateLimit | readonly RateLimit[] | undefined;
  /** The number of jobs that may wait in its queue before an enqueue of this process is refused. @default without a limit */
  maxPending?: number | undefined;
  /**
   * The number of bytes of payload that may wait in its queue before an enqueue of this process is refused. @default without a
   * limit
   */
  maxPendingBytes?: number | undefined;
  /**
   * The effect of an enqueue of this process on a full queue or group. `refuse`: it throws a QueueFullError. `drop-oldest`: it
   * cancels the oldest waiting jobs, at most 100, until the new job fits. @default `refuse`
   */
  onFull?: 'refuse' | 'drop-oldest' | undefined;
  /**
   * The names of limits of `forRoot({ limits })` that its queue shares with others. A job starts once each has a permit for it.
   * @default the definition's, else none. In a shared queue: an option of the queue
   * @example \@JobHandler('chat', { limits: ['openai'] })
   */
  limits?: readonly (string | SharedLimitUse)[] | undefined;
  /** The queue whose jobs it runs. @default the definition's, else a queue named after the job */
  queue?: string | undefined;
  /** The name of the connection that has the queue, in an app with several. @default the `forRoot` without a name */
  connection?: string | undefined;
  /** The number of its jobs that this process runs at once. @default 10. In a shared queue: an option of the queue, in `forRoot` */
  concurrency?: number | undefined;
  /** The number of jobs that it prefetches, see {@link WorkerQueue.prefetch}. @default by the pace. In a shared queue: an option of the queue */
  prefetch?: number | undefined;
  /**
   * The number of shards of its queue, from 1 to 64. They fall evenly on the masters of a Cluster. A producer
   * without this handler sets it in `forRoot({ queues })`. @default 1. In a shared queue: an option of the queue
   * @example \@JobHandler('ingest', { spread: 8 })
   */
  spread?: number | undefined;
  /** The time a claim lasts unless the worker extends it, in ms. @default 30,000. In a shared queue: an option of the queue */
  visibilityMs?: number | undefined;
  /** How the chunks of `job.stream` are kept, and what a new attempt does to them. In a shared queue: an option of the queue */
  stream?: StreamOptions | undefined;
  /**
   * Gives the method up to `size` jobs in one call, `handle(jobs, call)`. It returns nothing, an outcome for each job,
   * or a Map of outcomes by job or id. An outcome is a result, or an Error that fails the attempt. An error of the call
   * fails all. `concurrency` counts calls.
   *
   * @example \@JobHandler('index', { bulk: { size: 100, waitMs: 50 } })
   */
  bulk?: BulkOptions | undefined;
  /**
   * Runs the jobs in threads, so that calculations do not block the event loop and the heartbeats. The value is a file URL
   * or an absolute path. The default export of the file is the handler, a function of a ThreadJob. The class then has no
   * `handle`, and `concurrency` defaults to the number of processors. Needs the package piscina.
   *
   * @example \@JobHandler('render', { thread: new URL('../render.worker.js', import.meta.url) })
   */
  thread?: string | URL | ThreadOptions | undefined;
}

/** Options of a handler of a whole queue. */
export interface QueueHandlerOptions extends JobHandlerOptions {
  /** The queue whose jobs it runs. */
  queue: string;
  /**
   * `all`: the queue has no other handler. `others`: it gets the names that no other handler of this process has. Then a
   * misspelled name runs here too.
   * @default `all`
   */
  names?: 'all' | 'others' | undefined;
}

/** Options of a handler that the app makes at boot. The queue, its spread and the connection must be in the decorator. */
export type MadeHandlerOptions = Omit<JobHandlerOptions, 'queue' | 'connection' | 'spread'>;

/** The interface of a class given to `@JobHandler(name, { optionsFrom })`. */
export interface JobHandlerOptionsFactory {
  /** Makes the options, once, at boot. */
  createJobHandlerOptions(): MadeHandlerOptions | Promise<MadeHandlerOptions>;
}

/** The source of a handler's options, beside those of the decorator. */
export interface JobHandlerOptionsSource {
  /** A class that makes them: the app's provider of it, else one that Nest makes. Not with `useFactory`. */
  optionsFrom?: Type<JobHandlerOptionsFactory> | undefined;
  /** A function that makes them of what `inject` names. */
  useFactory?: ((...dependencies: never[]) => MadeHandlerOptions | Promise<MadeHandlerOptions>) | undefined;
  /** The tokens of the arguments of `useFactory`, as in a factory provider. */
  inject?: readonly (InjectionToken | OptionalFactoryDependency)[] | undefined;
}

const SOURCE_KEYS = ['optionsFrom', 'useFactory', 'inject'] as const;

/** Splits the options of a decorator into those given there and the source of others. */
function splitSource(given: JobHandlerOptions & JobHandlerOptionsSource): {
  options: JobHandlerOptions;
  source?: JobHandlerOptionsSource;
} {
  if (typeof given !== 'object' || given === null || !SOURCE_KEYS.some((key) => key in given)) {
    return { options: given };
  }
  const { optionsFrom, useFactory, inject, ...options } = given;
  return { options, source: { optionsFrom, useFactory, inject } };
}

/** Options in the decorator, and where more of them come from. */
export type DecoratorOptions = JobHandlerOptions & JobHandlerOptionsSource;

/** The record of a decorator; checked when the app boots. */
export interface HandlerRecord {
  name: string;
  options: JobHandlerOptions;
  /** The definition, if it was given instead of a name. */
  definition?: JobDefinition;
  /** The source of more options. */
  source?: JobHandlerOptionsSource;
  /** Set on a handler of a whole queue: whether the queue may have other handlers. */
  names?: QueueHandlerOptions['names'];
  /** True if it handles the final failures of the jobs of that name, and not the jobs. */
  failures?: true;
  /** The subscription whose jobs it handles. */
  subscribes?: { topic: string; name: string };
}

/** Decorates a class or a method that takes the payload of a definition and returns its result. */
export interface TypedHandlerDecorator<Definition extends JobDefinition> {
  /** Decorates a class. */
  (target: new (...args: never[]) => { handle: TypedHandlerFunction<Definition> }): void;
  /** Decorates a method. */
  <Method extends TypedHandlerFunction<Definition>>(
    target: object,
    name: string | symbol,
    descriptor: TypedPropertyDescriptor<Method>,
  ): void;
}

/** The same of a bulk handler, which takes several jobs. */
export interface TypedBulkDecorator<Definition extends JobDefinition> {
  /** Decorates a class. */
  (target: new (...args: never[]) => { handle: TypedBulkFunction<Definition> }): void;
  /** Decorates a method. */
  <Method extends TypedBulkFunction<Definition>>(
    target: object,
    name: string | symbol,
    descriptor: TypedPropertyDescriptor<Method>,
  ): void;
}

/**
 * Makes a provider's class, by its method `handle(job)`, or one of its methods the handler of a name's jobs. The return
 * value is the job's result; an error fails the attempt. Can be used several times, for several names.
 *
 * A bad option, a name bound twice or a missing `handle` stops the app's boot with an InvalidOptionError.
 *
 * @example
 * \@JobHandler('email', { concurrency: 10, maxAttempts: 5, timeoutMs: 30_000 })
 * export class EmailHandler {
 *   constructor(private readonly mailer: Mailer) {}
 *   handle(job: Job<EmailPayload>) {
 *     return this.mailer.send(job.payload, { signal: job.signal });
 *   }
 * }
 * @example
 * \@JobHandler('email', {
 *   inject: [ConfigService],
 *   useFactory: (config: ConfigService) => ({ concurrency: config.getOrThrow('EMAIL_CONCURRENCY') }),
 * })
 * @example
 * \@JobHandler(SendEmail) // of defineJob: the compiler holds payload and result against it
 * export class EmailHandler {
 *   handle(job: Job<PayloadOf<typeof SendEmail>>) { … }
 * }
 */
export function JobHandler(
  definition: JobDefinition,
  options: DecoratorOptions & Required<Pick<JobHandlerOptions, 'thread'>>,
): ClassDecorator;
/** Makes a class or a method the bulk handler of a definition. */
export function JobHandler<Definition extends JobDefinition>(
  definition: Definition,
  options: DecoratorOptions & Required<Pick<JobHandlerOptions, 'bulk'>>,
): TypedBulkDecorator<Definition>;
/** Makes a class or a method the handler of a definition. */
export function JobHandler<Definition extends JobDefinition>(
  definition: Definition,
  options?: DecoratorOptions,
): TypedHandlerDecorator<Definition>;
/**
 * Makes a class or a method the handler of a queue: of the jobs of every name. `job.name` says which.
 *
 * @example \@JobHandler({ queue: 'audio', concurrency: 5 })
 */
export function JobHandler(queue: QueueHandlerOptions & JobHandlerOptionsSource): ClassDecorator & MethodDecorator;
/** Makes a class or a method the handler of the jobs of a name. */
export function JobHandler(name: string, options?: DecoratorOptions): ClassDecorator & MethodDecorator;
export function JobHandler(
  job: string | JobDefinition | (QueueHandlerOptions & JobHandlerOptionsSource),
  given: DecoratorOptions = {},
) {
  const record = recordOf(job, given);
  return (target: object, method?: string | symbol, descriptor?: PropertyDescriptor) =>
    decorate(record, target, method, descriptor);
}

/** Makes a class or a method the handler of a record. @throws InvalidOptionError for another place */
export function decorate(
  record: HandlerRecord,
  target: object,
  method?: string | symbol,
  descriptor?: PropertyDescriptor,
): void {
  const place: unknown = method === undefined ? target : descriptor?.value;
  if (typeof place !== 'function' || (method !== undefined && typeof target === 'function')) {
    throw new InvalidOptionError(
      handlerSubject(record),
      record.subscribes ? 'an instance method' : 'a class or an instance method',
      `${typeof place === 'function' ? 'the static method' : 'the property'} ${String(method)}`,
    );
  }
  declareQueueOf(record);
  recordHandler(place, record);
  const owner = typeof target === 'function' ? target : target.constructor;
  decorated.push({ record, place: `${owner.name}${method === undefined ? '' : `.${String(method)}`}` });
}

/** All that this process has decorated, also classes that no module provides. */
const decorated: { record: HandlerRecord; place: string }[] = [];

/** Returns the classes and methods that this process has decorated for the jobs of a name in a queue. */
export function decoratedFor(queue: string, name: string): string[] {
  const isFor = ({ record }: (typeof decorated)[number]) =>
    [name, ANY_NAME].includes(record.name) && queueOfRecord(record) === queue;
  return [...new Set(decorated.filter(isFor).map(({ place }) => place))];
}

function queueOfRecord({ name, options, definition }: HandlerRecord): string {
  return options?.queue ?? definition?.defaults.queue ?? name;
}

function recordOf(
  job: string | JobDefinition | (QueueHandlerOptions & JobHandlerOptionsSource),
  given: DecoratorOptions,
): HandlerRecord {
  if (isJobDefinition(job)) {
    return { name: job.name, ...splitSource(given), definition: job };
  }
  if (typeof job !== 'object' || job === null) {
    return { name: job, ...splitSource(given) };
  }
  const { names = 'all', ...options } = job;
  return { name: ANY_NAME, ...splitSource(options), names };
}

/** Returns how errors name the decorator. */
export function handlerSubject({ name, names, options, failures, subscribes }: HandlerRecord): string {
  if (subscribes) {
    return `@OnTopic(${JSON.stringify(subscribes.topic)})`;
  }
  const given = names === undefined ? JSON.stringify(name) : `{ queue: ${JSON.stringify(options?.queue)} }`;
  return `@${failures ? 'OnJobFailed' : 'JobHandler'}(${given})`;
}

/** Records that a class or a method is a handler. */
function recordHandler(place: object, record: HandlerRecord): void {
  const records = (Reflect.getOwnMetadata(HANDLER_METADATA, place) as HandlerRecord[] | undefined) ?? [];
  Reflect.defineMetadata(HANDLER_METADATA, [record, ...records], place);
}

/** Declares the queue, so that `app.get(getQueueToken(queue))` finds it. The boot refuses an invalid name. */
function declareQueueOf(record: HandlerRecord): void {
  const queue = queueOfRecord(record);
  const connection = record.options?.connection ?? DEFAULT_CONNECTION;
  if (isQueueName(queue) && typeof connection === 'string') {
    declareQueue(queue, connection);
  }
}

/** Returns the records of a class or a method. A subclass inherits those of its base, unless it is decorated itself. */
export function handlerRecords(place: object): HandlerRecord[] {
  return (Reflect.getMetadata(HANDLER_METADATA, place) as HandlerRecord[] | undefined) ?? [];
}

/** Options of a handler of final failures. They apply to the failure jobs. */
export interface OnJobFailedOptions extends HandlerOptions {
  /** The queue of the jobs that fail. @default the definition's, else that of their handler in this process, else the one named as the job */
  queue?: string | undefined;
  /** The name of the connection that has the queue, in an app with several. @default the `forRoot` without a name */
  connection?: string | undefined;
}

/** Decorates a method that takes a failure job. */
export type FailureHandlerDecorator<Payload> = <Method extends (job: Job<JobFailure<Payload>>) => unknown>(
  target: object,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

/**
 * Makes a method the handler of final failures of the jobs of a name, as jobs of their own. The script that makes a dead
 * letter also enqueues one failure job. So no failure is missed when a process dies, and a failing method is retried.
 * `@OnJobEvent('failed')` is cheaper, but the event is lost with its process.
 *
 * The failure job goes to the queue of the failed job, before the jobs without a priority. Redis remembers for a day
 * that the name has such a handler. A bad option or a second handler stops the app's boot with an InvalidOptionError.
 *
 * @param definition the jobs that fail: their definition, or their name
 * @example
 * \@OnJobFailed('invoice', { maxAttempts: 10 })
 * async refund({ payload: failure }: Job<JobFailure<Invoice>>) {
 *   await this.tickets.open(`invoice ${failure.payload.number} failed: ${failure.error}`);
 * }
 */
export function OnJobFailed<Definition extends JobDefinition>(
  definition: Definition,
  options?: OnJobFailedOptions,
): FailureHandlerDecorator<PayloadOf<Definition>>;
/** Makes a method the handler of the final failures of the jobs of a name. */
export function OnJobFailed(name: string, options?: OnJobFailedOptions): MethodDecorator;
export function OnJobFailed(job: string | JobDefinition, options: OnJobFailedOptions = {}) {
  const [name, definition] = isJobDefinition(job) ? [job.name, job] : [job, undefined];
  return (target: object, method: string | symbol, descriptor: PropertyDescriptor) => {
    const place: unknown = descriptor?.value;
    if (typeof place !== 'function' || typeof target === 'function') {
      throw new InvalidOptionError(`@OnJobFailed(${show(name)})`, 'an instance method', String(method));
    }
    recordHandler(place, { name, options, definition, failures: true });
  };
}

/** Options of a subscription, which are those of a handler too. */
export type OnTopicOptions = Omit<DecoratorOptions, 'thread'> & {
  /**
   * The name of the subscription, among those of the topic. Without it a renamed class or method is another subscription.
   * @default the class and the method, as in `Receipts.send`
   */
  subscription?: string | undefined;
};

/** Decorates a method that takes the payload of a topic. */
export type TypedTopicDecorator<Topic extends TopicDefinition> = <
  Method extends TypedHandlerFunction<JobDefinition<Topic['payload']>>,
>(
  target: object,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

/**
 * Makes a method a subscription of a topic: each publication adds a job for it. The jobs are ordinary ones in a queue of their
 * own, `order.paid/receipts`, with retries, dead letters and limits. Redis keeps the subscription, so it also gets the
 * publications from a time when none of its processes ran. Can be used several times, for several topics.
 *
 * A bad name or option, or a subscription that is bound twice, stops the app's boot with an InvalidOptionError.
 *
 * @example
 * \@OnTopic('order.paid', { subscription: 'receipts', maxAttempts: 5 })
 * async send(job: Job<{ orderId: string }>) { … }
 */
export function OnTopic<Topic extends TopicDefinition>(
  topic: Topic,
  options?: OnTopicOptions,
): TypedTopicDecorator<Topic>;
/** Makes a method a subscription of a topic by its name. */
export function OnTopic(topic: string, options?: OnTopicOptions): MethodDecorator;
export function OnTopic(topic: string | TopicDefinition, given: OnTopicOptions = {}): MethodDecorator {
  return (target: object, method: string | symbol, descriptor: PropertyDescriptor) =>
    decorate(
      topicRecordOf(topic, given, `${target.constructor.name}.${String(method)}`),
      target,
      method,
      descriptor,
    );
}

function topicRecordOf(topic: string | TopicDefinition, given: OnTopicOptions, place: string): HandlerRecord {
  if (typeof given !== 'object' || given === null) {
    throw new InvalidOptionError(`@OnTopic on ${place}`, 'an object of options', show(given));
  }
  const { subscription = place, ...options } = given;
  const definition = isTopicDefinition(topic) ? topic : undefined;
  const name = definition?.name ?? topic;
  checkTopicName(`topic of @OnTopic on ${place}`, name);
  const { thread } = options as DecoratorOptions;
  if (thread !== undefined) {
    const hint = 'Let the method enqueue a job, whose @JobHandler has a thread.';
    const subject = `@OnTopic(${JSON.stringify(name)}).thread on ${place}`;
    throw new InvalidOptionError(subject, 'none, because the method does the work', show(thread), hint);
  }
  checkTopicName(
    `@OnTopic(${JSON.stringify(name)}).subscription on ${place}`,
    subscription,
    'Pass a shorter or plainer one.',
  );
  const jobName = jobNameOf({ topic: name, name: subscription });
  return {
    name: jobName,
    ...splitSource(options),
    ...(definition && { definition: definition.jobsOf(jobName) }),
    subscribes: { topic: name, name: subscription },
  };
}

// A fixed text, so that classes decorated by another copy of the package are found.
const RECURRING_METADATA = 'nest-job-queue:recurring';

/** Options of a recurring job that a handler declares. */
export interface RecurringJobOptions extends Omit<ScheduleOptions, 'name' | 'definition'> {
  /** The id of the schedule in its queue. @default the name of the handler's jobs */
  id?: string | undefined;
}

/** The record of a decorator; checked when the app boots. */
export interface RecurringRecord {
  recurrence: Recurrence;
  options: RecurringJobOptions;
}

/**
 * Makes a job recur: on a class or method that is a `@JobHandler` of one name. Can be used several times, with
 * different ids. One job is enqueued for each tick, with any number of processes. The schedule lives while a worker
 * with this decorator runs. Without the decorator, it stops 30 s after the last such worker is gone.
 *
 * A bad expression, time zone or option stops the app's boot with an InvalidOptionError. A payload that does not fit
 * its handler's definition stops it with an InvalidPayloadError.
 *
 * @param recurrence when it ticks, with `startAt`, `endAt`, `limit` and `jitterMs`
 * @example
 * \@JobHandler('report')
 * \@RecurringJob({ cron: '0 3 * * *', timeZone: 'Europe/Berlin' }, { payload: { kind: 'daily' }, onMissed: 'once' })
 * export class ReportHandler { … }
 */
export function RecurringJob(
  recurrence: Recurrence,
  options: RecurringJobOptions = {},
): ClassDecorator & MethodDecorator {
  return (target: object, method?: string | symbol, descriptor?: PropertyDescriptor) => {
    const place: unknown = method === undefined ? target : descriptor?.value;
    if (typeof place !== 'function' || (method !== undefined && typeof target === 'function')) {
      throw new InvalidOptionError(
        '@RecurringJob',
        'a class or an instance method',
        `${typeof place === 'function' ? 'the static method' : 'the property'} ${String(method)}`,
      );
    }
    const records = (Reflect.getOwnMetadata(RECURRING_METADATA, place) as RecurringRecord[] | undefined) ?? [];
    Reflect.defineMetadata(RECURRING_METADATA, [{ recurrence, options }, ...records], place);
  };
}

/** Returns the records of a class or a method. */
export function recurringRecords(place: object): RecurringRecord[] {
  return (Reflect.getMetadata(RECURRING_METADATA, place) as RecurringRecord[] | undefined) ?? [];
}
