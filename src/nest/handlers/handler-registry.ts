import { availableParallelism } from 'node:os';
import { Inject, Injectable, type InjectionToken, type OptionalFactoryDependency } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { z } from 'zod';
import type { JobDefinition } from '../../queue/enqueue/define-job.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { OWN_QUEUE_OPTIONS, queueOptionFields } from '../../queue/model/queue-options.js';
import { spreadFields } from '../../queue/model/spread.js';
import { isOfPublications, PUBLICATIONS, publicationsOf } from '../../queue/model/topic.js';
import { DeclaredTopics } from '../../queue/register/declared-topics.js';
import { withoutUndefined } from '../../queue/runtime/collections.js';
import { checkSchedule, encodeSchedule } from '../../queue/schedules/schedule.js';
import { ANY_NAME, checkHandledName, checkQueueName } from '../../queue/validation/names.js';
import { checkObject, checkOptions } from '../../queue/validation/validate-options.js';
import type { SpreadQueue } from '../../spread/spread-queue.js';
import {
  handlerDefaults,
  bulkSchema,
  handlerOptionFields,
  slotFields,
  withBulkSchemas,
  withSchemas,
} from '../../worker/handlers/define-handler.js';
import {
  type BulkHandler,
  type BulkHandlerFunction,
  setAroundEachJob,
  type Handler,
  type HandlerFunction,
  type HandlerOptions,
  type DeclaredSchedule,
} from '../../worker/handlers/handler.js';
import { ThreadPool } from '../../worker/threads/thread-pool.js';
import { refuseBareContent } from '../../worker/topics.js';
import { CONNECTION_NAME, DEFAULT_CONNECTION } from '../connection/connection-tokens.js';
import { QueueRegistry } from '../connection/queue-registry.js';
import { findProvider } from '../context/container.js';
import { picked, withoutDefaults } from '../job-queue.options.js';
import { isMade, isScoped, hasPipes, HandlerBinder } from './handler-binder.js';
import { type FoundHandler, HandlerExplorer } from './handler-explorer.js';
import type { JobHandlerOptionsSource, MadeHandlerOptions } from './job-handler.decorator.js';
import { resolveThread } from './thread-option.js';

/** The options that a handler sets for its own queue. */
const QUEUE_OPTIONS = [
  ...(Object.keys(slotFields) as (keyof typeof slotFields)[]),
  ...OWN_QUEUE_OPTIONS,
  'spread',
] as const;
const HANDLER_OPTIONS = Object.keys(handlerOptionFields) as (keyof typeof handlerOptionFields)[];

const optionsSchema = z.strictObject(
  {
    ...handlerOptionFields,
    queue: z.string({ error: "expected a queue's name" }).optional(),
    connection: z.string({ error: 'expected the name of a connection' }).optional(),
    ...slotFields,
    ...spreadFields,
    ...picked(withoutDefaults(queueOptionFields), OWN_QUEUE_OPTIONS),
    thread: z.unknown().optional(),
    bulk: bulkSchema.optional(),
  },
  { error: 'expected an object of handler options' },
);

type BoundHandler = FoundHandler & { handler: Handler | BulkHandler };

/** The handlers of this process, checked, by queue and name. */
@Injectable()
export class HandlerRegistry {
  private readonly byQueue = new Map<string, Map<string, BoundHandler>>();
  /** The queues with a handler of each name. An enqueue by name asks for it each time. */
  private readonly queuesOf = new Map<string, string[]>();
  /** The schedules of the handlers. */
  readonly schedules: DeclaredSchedules;
  /** The handlers of final failures. */
  readonly failures = new FailureHandlers();
  private readonly queueOfPool = new Map<ThreadPool, string>();
  private readonly known = new Set<FoundHandler['wrapper']>();
  private connections: readonly string[] = [];
  /** The number of providers at the last look for injected queues with shards. */
  private lookedAt = 0;
  bound = false;
  /** The topics with a subscription here, by the queue of their publications. This process hands these on. */
  private readonly topicOf = new Map<string, string>();
  /** Hands on a publication to the subscriptions of its topic. */
  handOn: Handler = { handle: () => undefined };

  constructor(
    private readonly explorer: HandlerExplorer,
    private readonly queues: QueueRegistry,
    private readonly binder: HandlerBinder,
    @Inject(CONNECTION_NAME) private readonly connection: string = DEFAULT_CONNECTION,
  ) {
    this.schedules = new DeclaredSchedules(queues);
    queues.definitionOf = (queue, job) => this.definitionOf(queue, job);
  }

  /**
   * Finds and checks all handlers; to be called when every provider is made.
   *
   * @param connections the names of all connections of the app
   * @throws InvalidOptionError that names class and method
   */
  async bind(connections: readonly string[]): Promise<void> {
    this.connections = connections;
    if (!this.bound) {
      await this.addAll(this.explorer.find().filter((each) => this.isOurs(each)));
      this.bound = true;
    }
  }

  private addFailureHandler(found: FoundHandler): void {
    const queue = this.failures.add(found, this.functionOf(found), (name) => this.queueOf(name));
    this.useDefinition(queue, found);
  }

  private useDefinition(queue: string, { definition, subject }: FoundHandler): void {
    this.queues.shardsOf(queue).forEach((shard) => shard.definitions.use(definition, subject));
  }

  /**
   * Binds the handlers of newly loaded modules.
   *
   * @returns their queues
   * @throws InvalidOptionError, also if a worker of this process already serves such a queue
   */
  async bindLoaded(): Promise<string[]> {
    if (!this.bound) {
      return [];
    }
    const found = this.explorer
      .find()
      .filter((each) => !this.known.has(each.wrapper) && isMade(each.wrapper) && this.isOurs(each));
    const shared = found.find((each) => this.byQueue.has(queueOfHandler(each)));
    if (shared) {
      throw new InvalidOptionError(
        shared.subject,
        'a queue of its own, since its module was loaded lazily',
        `the queue "${queueOfHandler(shared)}", which a worker of this process serves already`,
      );
    }
    const served = new Set(this.topicOf.keys());
    await this.addAll(found);
    const publications = [...this.topicOf.keys()].filter((queue) => !served.has(queue));
    return [...new Set([...found.map(queueOfHandler), ...publications])];
  }

  /** @throws InvalidOptionError for a connection that the app does not have */
  private isOurs({ subject, options }: FoundHandler): boolean {
    const connection: unknown = options?.connection ?? DEFAULT_CONNECTION;
    if (!this.connections.includes(connection as string)) {
      throw new InvalidOptionError(
        `${subject}.connection`,
        `the name of a JobQueueModule.forRoot: ${this.connections.join(', ')}`,
        show(connection),
      );
    }
    return connection === this.connection;
  }

  private async addAll(all: readonly FoundHandler[]): Promise<void> {
    all.forEach((each) => this.known.add(each.wrapper));
    const made = await Promise.all(all.map(withMadeOptions));
    const found = made.filter(({ failures }) => !failures);
    found.forEach((each) => this.add(each));
    this.byQueue.forEach(refuseHidingNames);
    found.forEach((each) => this.configureQueue(each));
    found.forEach((each) => this.schedules.add(queueOfHandler(each), each));
    found.forEach((each) => this.subscribe(each));
    made.filter(({ failures }) => failures).forEach((each) => this.addFailureHandler(each));
  }

  private subscribe(found: FoundHandler): void {
    if (found.subscribes) {
      const queue = queueOfHandler(found);
      const { topic } = found.subscribes;
      const publications = publicationsOf(topic);
      this.topicOf.set(publications, topic);
      this.queues.configure(publications, { groups: { maxRunning: 1 } }); // keeps the order of a group
      refuseBareContent(found.subject, this.queues.queue(queue), this.queues.queue(publications));
      const register = this.queues.reference(PUBLICATIONS); // the one that a publication reads
      const { prefix, hashTag } = this.queues.queue(queue).options;
      DeclaredTopics.of(register.store).add(register, {
        ...found.subscribes,
        queue,
        prefix,
        ...withoutUndefined({ hashTag, shards: this.queues.spreadOf(queue)?.shards.length }),
      });
    }
  }

  /**
   * Starts the thread pools of the handlers.
   *
   * @throws InvalidOptionError where it is not there
   */
  async openThreads(queues: readonly string[] = this.queueNames): Promise<void> {
    const pools = [...this.queueOfPool].filter(([, queue]) => queues.includes(queue));
    const rulesOf = (queue: string) => this.queues.queue(queue).options;
    await Promise.all(pools.map(([pool, queue]) => pool.open(this.queues.concurrencyOf(queue), rulesOf(queue))));
  }

  /** Ends the threads that handlers run in; waits for their end for `timeoutMs` at most. */
  async close(timeoutMs: number): Promise<void> {
    await Promise.all([...this.queueOfPool.keys()].map((pool) => pool.close(timeoutMs)));
  }

  /** The queues with handlers. */
  get queueNames(): string[] {
    return [...new Set([...this.byQueue.keys(), ...this.failures.queueNames, ...this.topicOf.keys()])];
  }

  /** Returns the handlers of a queue by job name, as a worker takes them. */
  handlersOf(queue: string): Record<string, Handler | BulkHandler> {
    const topic = this.topicOf.get(queue);
    if (topic !== undefined) {
      return { [topic]: this.handOn };
    }
    const handlers = [...(this.byQueue.get(queue) ?? [])];
    return Object.fromEntries(handlers.map(([name, { handler }]) => [name, handler]));
  }

  private definitionOf(queue: string, name: string): JobDefinition | undefined {
    return this.byQueue.get(queue)?.get(name)?.definition;
  }

  /**
   * Returns the queue of a name's jobs: its handler's in this process, else the queue with that name.
   *
   * @throws InvalidOptionError if handlers of that name serve several queues
   */
  queueOf(name: string): string {
    // While Nest still creates providers, only the decorators are known.
    const queues = this.bound ? (this.queuesOf.get(name) ?? []) : this.declaredQueuesOf(name);
    if (queues.length > 1) {
      throw new InvalidOptionError(
        `queue of "${name}"`,
        'the option queue, since handlers of that name serve several',
        queues.join(', '),
      );
    }
    return queues[0] ?? name;
  }

  /** Returns the shards of a queue; undefined for a queue without `spread`. */
  spreadOf(queue: string): SpreadQueue | undefined {
    // While Nest still creates providers, only the decorators are known.
    if (!this.bound) this.spreadDeclared();
    return this.queues.spreadOf(queue);
  }

  /**
   * Returns the queue with shards that a class injects; undefined for a queue without. It looks once, as an app may inject many. A wrong
   * decorator does not fail here. The boot refuses it later.
   */
  injectedWhole(queue: string): JobQueue | undefined {
    const { size } = this.explorer;
    if (!this.bound && size !== this.lookedAt) {
      this.lookedAt = size;
      try {
        this.spreadDeclared();
      } catch {
        return undefined;
      }
    }
    return this.queues.spreadOf(queue)?.whole;
  }

  private spreadDeclared(): void {
    for (const found of this.explorer.find().filter((each) => !each.failures && this.isOfConnection(each))) {
      const spread = spreadFields.spread.safeParse(found.options?.spread).data;
      if (spread !== undefined && !this.queues.spreadOf(queueOfHandler(found))) {
        this.queues.configure(queueOfHandler(found), { spread });
      }
    }
  }

  private declaredQueuesOf(name: string): string[] {
    const found = this.explorer
      .find()
      .filter((each) => each.name === name && !each.failures && this.isOfConnection(each));
    return [...new Set(found.map(queueOfHandler))];
  }

  private isOfConnection({ options }: FoundHandler): boolean {
    return (options?.connection ?? DEFAULT_CONNECTION) === this.connection;
  }

  private add(found: FoundHandler): void {
    const { subject, name, options } = found;
    checkHandler(found);
    const checked = checkOptions(subject, optionsSchema, options);
    const { bulk } = checked;
    const handlerOptions = picked(checked, HANDLER_OPTIONS);
    const queue = queueOfHandler(found);
    checkQueueName(queue, `queue name of ${subject}`);
    if (isOfPublications(queue)) {
      throw new InvalidOptionError(`queue of ${subject}`, 'another name', `${show(queue)}, which is for topics`);
    }
    const handlers = this.byQueue.get(queue) ?? new Map<string, BoundHandler>();
    const other = handlers.get(name);
    if (other) {
      throw new InvalidOptionError(
        subject,
        `one handler of "${name}" in queue "${queue}"`,
        `another one, ${other.subject}`,
        'Is a class provided in two modules? Provide it in one and export it.',
      );
    }
    refuseBulkInThread(subject, checked);
    const handler = bulk
      ? bulkHandlerOf(found, { ...handlerOptions, bulk }, this.binder)
      : handlerOf(found, handlerOptions, this.functionOf(found));
    handlers.set(name, { ...found, handler });
    this.byQueue.set(queue, handlers);
    this.queuesOf.set(name, [...(this.queuesOf.get(name) ?? []), queue]);
  }

  private functionOf(found: FoundHandler): HandlerFunction {
    const { subject, method, options } = found;
    if (options?.thread === undefined) {
      return this.binder.bind(found);
    }
    if (found.instance?.[method] !== undefined) {
      throw new InvalidOptionError(
        `${subject}.thread`,
        `a class without ${String(method)}, since the file does the work`,
        `${String(method)} beside it`,
      );
    }
    const pool = new ThreadPool(resolveThread(`${subject}.thread`, options.thread));
    this.queueOfPool.set(pool, queueOfHandler(found));
    return this.binder.bind(found, pool.handle);
  }

  /** Sets the options of a handler's own queue. A shared queue has its options in one place. */
  private configureQueue(found: FoundHandler): void {
    const queue = queueOfHandler(found);
    const shared = (queue !== found.name && found.names === undefined) || this.byQueue.get(queue)!.size > 1;
    const options = { ...found.options, limits: found.options.limits ?? found.definition?.defaults.limits };
    const option = QUEUE_OPTIONS.find((each) => options[each] !== undefined);
    if (shared && option) {
      throw new InvalidOptionError(
        `${found.subject}.${option}`,
        `no option of the shared queue "${queue}" on one of its handlers`,
        show(options[option]),
        `Set it on the queue: JobQueueModule.forRoot({ queues: { ${JSON.stringify(queue)}: { ${option}: … } } }).`,
      );
    }
    if (!shared) {
      const { thread, concurrency = thread === undefined ? undefined : availableParallelism() } = options;
      this.queues.configure(queue, { ...picked(options, QUEUE_OPTIONS), concurrency });
    }
    this.useDefinition(queue, found);
  }
}

/** @throws InvalidOptionError where the definition sends its jobs elsewhere */
function queueOfHandler({ subject, name, options, definition }: FoundHandler): string {
  const defined = definition?.defaults.queue;
  if (defined !== undefined && options?.queue !== undefined && options.queue !== defined) {
    throw new InvalidOptionError(
      `${subject}.queue`,
      `that of the definition, ${show(defined)}`,
      show(options.queue),
    );
  }
  return options?.queue ?? defined ?? name;
}

/** The checked recurring jobs that the handlers of this process declare, by queue and id. */
class DeclaredSchedules {
  private readonly byQueue = new Map<string, Map<string, DeclaredSchedule & { subject: string }>>();
  /** The checks of payloads by asynchronous schemas. */
  private readonly checks: Promise<unknown>[] = [];

  constructor(private readonly queues: QueueRegistry) {}

  /** @throws InvalidOptionError, InvalidPayloadError */
  add(queue: string, { subject, name, recurring, definition }: FoundHandler): void {
    for (const { recurrence, options } of recurring) {
      const of = `@RecurringJob of ${subject}`;
      if (typeof options !== 'object' || options === null) {
        throw new InvalidOptionError(of, 'an object of options', show(options));
      }
      const { id = name, ...rest } = options;
      const schedules = this.byQueue.get(queue) ?? new Map<string, DeclaredSchedule & { subject: string }>();
      const other = schedules.get(id);
      if (other) {
        throw new InvalidOptionError(
          of,
          `one schedule ${show(id)} in queue "${queue}"`,
          `another one, ${other.subject}`,
          'Give it an id.',
        );
      }
      const named = definition ? { payload: null, ...rest, definition } : { ...rest, name };
      const schedule = { recurrence, options: named, subject: of };
      const target = this.queues.queue(queue);
      const stored = encodeSchedule(target, id, recurrence, named, of);
      const check = checkSchedule(stored, definition, target, of);
      if (check) {
        check.catch(() => undefined); // whenChecked reports the error
        this.checks.push(check);
      }
      schedules.set(id, schedule);
      this.byQueue.set(queue, schedules);
    }
  }

  /** @throws InvalidPayloadError where an asynchronous schema does not take a payload */
  async whenChecked(): Promise<void> {
    await Promise.all(this.checks);
  }

  /** Returns the schedules of a queue for a worker. */
  of(queue: string): Record<string, DeclaredSchedule> {
    return Object.fromEntries(this.byQueue.get(queue) ?? []);
  }
}

/** Returns a handler of one job at a time, as a worker takes it. */
function handlerOf({ definition }: FoundHandler, options: HandlerOptions, handle: HandlerFunction): Handler {
  return definition
    ? { ...options, ...handlerDefaults(definition), handle: withSchemas(definition, handle) }
    : { ...options, handle };
}

/**
 * Returns a bulk handler for a worker. Guards, interceptors and filters act around each job separately.
 *
 * @throws InvalidOptionError
 */
function bulkHandlerOf(
  found: FoundHandler,
  options: Omit<BulkHandler, 'handle'>,
  binder: HandlerBinder,
): BulkHandler {
  const { subject, method, definition, instance, wrapper } = found;
  if (isScoped(wrapper)) {
    throw new InvalidOptionError(`${subject}.bulk`, 'a provider of the default scope', 'a scoped one');
  }
  if (hasPipes(found)) {
    throw new InvalidOptionError(
      `${subject}.bulk`,
      'no pipes and no decorated parameters, since it gets several jobs',
      'some',
      'Bind it to a definition of defineJob, whose schema reads each payload.',
    );
  }
  if (typeof instance?.[method] !== 'function') {
    throw new InvalidOptionError(subject, `a method ${String(method)}(jobs)`, show(instance?.[method]));
  }
  const handle: BulkHandlerFunction = (jobs, call) =>
    (instance[method] as BulkHandlerFunction).call(instance, jobs, call);
  const handler = definition
    ? { ...options, ...handlerDefaults(definition), handle: withBulkSchemas(definition, handle) }
    : { ...options, handle };
  const each = binder.bindEachJob(found);
  if (each) {
    setAroundEachJob(handler.handle, each);
  }
  return handler;
}

/** Checks the name of a handler, or what a handler of a whole queue has instead. @throws InvalidOptionError */
function checkHandler({ subject, name, names, options, recurring }: FoundHandler): void {
  if (names === undefined) {
    return checkHandledName(name, `job name of ${subject}`);
  }
  if (options.queue === undefined) {
    const hint =
      "For one name write @JobHandler('email', { … }), for all names of a queue @JobHandler({ queue: 'jobs' }).";
    throw new InvalidOptionError(`${subject}.queue`, "a queue's name", 'none', hint);
  }
  if (names !== 'all' && names !== 'others') {
    throw new InvalidOptionError(`${subject}.names`, "'all' or 'others'", show(names));
  }
  if (recurring.length > 0) {
    const hint = 'Bind the recurring job to a handler of one name.';
    throw new InvalidOptionError(`@RecurringJob of ${subject}`, 'a handler of one name', 'one of every name', hint);
  }
}

/**
 * Refuses a handler of a whole queue beside handlers of names, unless it says so. It would run a job of a misspelled name, which
 * otherwise waits and is reported.
 *
 * @param handlers of one queue, by name
 * @throws InvalidOptionError
 */
function refuseHidingNames(handlers: ReadonlyMap<string, FoundHandler>): void {
  const ofQueue = handlers.get(ANY_NAME);
  const other = [...handlers.values()].find((each) => each !== ofQueue);
  if (ofQueue?.names === 'all' && other) {
    throw new InvalidOptionError(
      ofQueue.subject,
      `no other handler in queue ${show(ofQueue.options.queue)}`,
      other.subject,
      "Add names: 'others' if it must get every other name, misspelled ones too.",
    );
  }
}

/** @throws InvalidOptionError */
function refuseBulkInThread(subject: string, { bulk, thread }: { bulk?: unknown; thread?: unknown }): void {
  if (bulk !== undefined && thread !== undefined) {
    throw new InvalidOptionError(`${subject}.bulk`, 'none beside thread', show(bulk));
  }
}

/**
 * Returns a handler with the options of its source, which win over those of its decorator.
 *
 * @throws InvalidOptionError, and errors of the source
 */
async function withMadeOptions(found: FoundHandler): Promise<FoundHandler> {
  const { source, subject } = found;
  if (!source) {
    return found;
  }
  checkSource(subject, source);
  const made: unknown = await make(source, found.wrapper.host!.getProviderByKey<ModuleRef>(ModuleRef).instance);
  const place = `${subject}.${source.optionsFrom ? 'optionsFrom' : 'useFactory'}`;
  checkObject(place, 'an object of handler options', made);
  const fixed = ['queue', 'connection', 'spread'].find((key) => key in made);
  if (fixed) {
    throw new InvalidOptionError(`${place}.${fixed}`, 'this option in the decorator', 'it in what a provider made');
  }
  return { ...found, options: { ...found.options, ...withoutUndefined(made as MadeHandlerOptions) } };
}

function checkSource(subject: string, { optionsFrom, useFactory, inject }: JobHandlerOptionsSource): void {
  if ((optionsFrom === undefined) === (useFactory === undefined)) {
    const found = optionsFrom === undefined ? 'inject alone' : 'both';
    throw new InvalidOptionError(subject, 'either optionsFrom or useFactory', found);
  }
  const made = optionsFrom ?? useFactory;
  if (typeof made !== 'function') {
    const key = optionsFrom === undefined ? 'useFactory' : 'optionsFrom';
    throw new InvalidOptionError(`${subject}.${key}`, optionsFrom ? 'a class' : 'a function', show(made));
  }
  if (inject !== undefined && (optionsFrom || !Array.isArray(inject))) {
    throw new InvalidOptionError(`${subject}.inject`, 'a list of tokens beside useFactory', show(inject));
  }
}

async function make(
  { optionsFrom, useFactory, inject = [] }: JobHandlerOptionsSource,
  ref: ModuleRef,
): Promise<unknown> {
  if (optionsFrom) {
    const factory = findProvider(ref, optionsFrom) ?? (await ref.create(optionsFrom));
    return factory.createJobHandlerOptions();
  }
  const dependencies = inject.map((each) => {
    const { token, optional } = isOptional(each) ? each : { token: each, optional: false };
    return optional ? findProvider(ref, token) : ref.get<unknown>(token, { strict: false });
  });
  return (useFactory as (...dependencies: unknown[]) => unknown)(...dependencies);
}

function isOptional(each: InjectionToken | OptionalFactoryDependency): each is OptionalFactoryDependency {
  return typeof each === 'object' && 'token' in each;
}

const failureOptionsSchema = z.strictObject(
  {
    ...handlerOptionFields,
    queue: z.string({ error: "expected a queue's name" }).optional(),
    connection: z.string({ error: 'expected the name of a connection' }).optional(),
  },
  { error: 'expected an object of handler options' },
);

/** The methods decorated with `@OnJobFailed`, checked, by queue and by the name of the jobs that fail. */
class FailureHandlers {
  private readonly byQueue = new Map<string, Map<string, FoundHandler & { handler: Handler }>>();

  /**
   * @param queueOf the queue of the jobs of a name, if neither the options nor a definition name it
   * @returns the queue
   * @throws InvalidOptionError
   */
  add(found: FoundHandler, handle: HandlerFunction, queueOf: (name: string) => string): string {
    const { subject, name, options, definition } = found;
    checkHandledName(name, subject);
    const {
      queue: given,
      connection: _connection,
      ...handlerOptions
    } = checkOptions(subject, failureOptionsSchema, options);
    const queue = given ?? definition?.defaults.queue ?? queueOf(name);
    checkQueueName(queue);
    const handlers = this.byQueue.get(queue) ?? new Map<string, FoundHandler & { handler: Handler }>();
    const other = handlers.get(name);
    if (other) {
      throw new InvalidOptionError(
        subject,
        `one handler of the failures of "${name}" in queue "${queue}"`,
        `another one, ${other.subject}`,
        'Call the second from the first.',
      );
    }
    handlers.set(name, { ...found, handler: { ...handlerOptions, handle } });
    this.byQueue.set(queue, handlers);
    return queue;
  }

  /** Each handler's place in errors, with the queue and the name of the jobs that fail. */
  get all(): { queue: string; name: string; subject: string }[] {
    return [...this.byQueue].flatMap(([queue, handlers]) =>
      [...handlers].map(([name, { subject }]) => ({ queue, name, subject })),
    );
  }

  /** The queues with such handlers. */
  get queueNames(): string[] {
    return [...this.byQueue.keys()];
  }

  /** Returns the handlers of a queue for a worker. */
  of(queue: string): Record<string, Handler> {
    const handlers = [...(this.byQueue.get(queue) ?? [])];
    return Object.fromEntries(handlers.map(([name, { handler }]) => [name, handler]));
  }
}
