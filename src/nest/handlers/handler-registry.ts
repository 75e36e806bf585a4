import { availableParallelism } from 'node:os';
import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { checkOptions } from '../../queue/validation/validate-options.js';
import type { JobDefinition } from '../../queue/enqueue/define-job.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { checkQueueName } from '../../queue/validation/names.js';
import { show } from '../../queue/errors/show.js';
import { OWN_QUEUE_OPTIONS, queueOptionFields } from '../../queue/model/queue-options.js';
import { bulkSchema, handlerOptionFields, slotFields } from '../../worker/handlers/handler-options.js';
import type { BulkHandler } from '../../worker/handlers/bulk-handler.js';
import type { Handler, HandlerFunction } from '../../worker/handlers/handler.js';
import { ThreadPool } from '../../worker/threads/thread-pool.js';
import { DeclaredSchedules } from './declared-schedules.js';
import { FailureHandlers } from './failure-handlers.js';
import { isMade } from '../enhancers/attempt-scope.js';
import { HandlerBinder } from '../enhancers/handler-binder.js';
import { withMadeOptions } from './made-options.js';
import { bulkHandlerOf, handlerOf } from './make-handler.js';
import { HandlerExplorer, type FoundHandler } from './handler-explorer.js';
import { picked, withoutDefaults } from '../options/defined-options.js';
import { CONNECTION_NAME, DEFAULT_CONNECTION } from '../connection/connection-tokens.js';
import { QueueRegistry } from '../connection/queue-registry.js';
import { checkHandler, refuseBulkInThread, refuseHidingNames } from './queue-handler.js';
import { resolveThread } from './thread-option.js';

/** The options that a handler sets for its own queue. */
const QUEUE_OPTIONS = [...(Object.keys(slotFields) as (keyof typeof slotFields)[]), ...OWN_QUEUE_OPTIONS] as const;
const HANDLER_OPTIONS = Object.keys(handlerOptionFields) as (keyof typeof handlerOptionFields)[];

const optionsSchema = z.strictObject(
  {
    ...handlerOptionFields,
    queue: z.string({ error: "expected a queue's name" }).optional(),
    connection: z.string({ error: 'expected the name of a connection' }).optional(),
    ...slotFields,
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
  /** The schedules of the handlers. */
  readonly schedules: DeclaredSchedules;
  /** The handlers of final failures. */
  readonly failures = new FailureHandlers();
  private readonly queueOfPool = new Map<ThreadPool, string>();
  private readonly known = new Set<FoundHandler['wrapper']>();
  private connections: readonly string[] = [];
  bound = false;

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
    this.queues.queue(queue).definitions.use(found.definition, found.subject);
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
    await this.addAll(found);
    return [...new Set(found.map(queueOfHandler))];
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
    made.filter(({ failures }) => failures).forEach((each) => this.addFailureHandler(each));
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
    return [...new Set([...this.byQueue.keys(), ...this.failures.queueNames])];
  }

  /** Returns the handlers of a queue by job name, as a worker takes them. */
  handlersOf(queue: string): Record<string, Handler | BulkHandler> {
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
    const queues = this.bound
      ? this.queueNames.filter((queue) => this.byQueue.get(queue)?.has(name))
      : [
          ...new Set(
            this.explorer
              .find()
              .filter((each) => each.name === name && !each.failures && this.isOfConnection(each))
              .map(queueOfHandler),
          ),
        ];
    if (queues.length > 1) {
      throw new InvalidOptionError(
        `queue of "${name}"`,
        'the option queue, since handlers of that name serve several',
        queues.join(', '),
      );
    }
    return queues[0] ?? name;
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
    const option = QUEUE_OPTIONS.find((each) => found.options[each] !== undefined);
    if (shared && option) {
      throw new InvalidOptionError(
        `${found.subject}.${option}`,
        `no option of the shared queue "${queue}" on one of its handlers`,
        show(found.options[option]),
        `Set it on the queue: JobQueueModule.forRoot({ queues: { ${JSON.stringify(queue)}: { ${option}: … } } }).`,
      );
    }
    if (!shared) {
      const { thread, concurrency = thread === undefined ? undefined : availableParallelism() } = found.options;
      this.queues.configure(queue, { ...picked(found.options, QUEUE_OPTIONS), concurrency });
    }
    this.queues.queue(queue).definitions.use(found.definition, found.subject);
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
