import { availableParallelism } from 'node:os';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { checkOptions } from '../../queue/model/validate-options.js';
import type { JobDefinition } from '../../queue/enqueue/define-job.js';
import { InvalidOptionError } from '../../queue/model/errors.js';
import { checkJobName, checkQueueName, show } from '../../queue/model/names.js';
import { duration, limitFields, maxPendingField } from '../../queue/model/queue-options.js';
import { checked as checkedBySchema } from '../../worker/handlers/schema-handler.js';
import { handlerOptionFields, slotFields } from '../../worker/handlers/handler-options.js';
import { handlerDefaults } from '../../worker/handlers/define-handler.js';
import type { Handler, HandlerFunction } from '../../worker/handlers/handler.js';
import { ThreadPool } from '../../worker/threads/thread-pool.js';
import { DeclaredSchedules } from './declared-schedules.js';
import { HandlerExplorer, type FoundHandler } from './handler-explorer.js';
import { QueueRegistry } from '../connection/queue-registry.js';
import { resolveThread } from './thread-option.js';

const QUEUE_OPTIONS = [
  'concurrency',
  'prefetch',
  'visibilityMs',
  'maxRunning',
  'rateLimit',
  'groups',
  'maxPending',
] as const;

const optionsSchema = z.strictObject(
  {
    ...handlerOptionFields,
    queue: z.string({ error: "expected a queue's name" }).optional(),
    ...slotFields,
    ...limitFields,
    maxPending: maxPendingField,
    visibilityMs: duration(100).optional(),
    thread: z.unknown().optional(),
  },
  { error: 'expected an object of handler options' },
);

/** The handlers of this process, checked, by queue and name. */
@Injectable()
export class HandlerRegistry {
  private readonly byQueue = new Map<string, Map<string, FoundHandler & { handler: Handler }>>();
  /** What the handlers let recur. */
  readonly schedules: DeclaredSchedules;
  private readonly threadPools = new Map<ThreadPool, FoundHandler>();
  private bound = false;

  constructor(
    private readonly explorer: HandlerExplorer,
    private readonly queues: QueueRegistry,
  ) {
    this.schedules = new DeclaredSchedules(queues);
  }

  /**
   * Finds and checks all handlers; to be called when every provider is made.
   *
   * @throws InvalidOptionError that names class and method
   */
  bind(): void {
    if (!this.bound) {
      const found = this.explorer.find();
      found.forEach((each) => this.add(each));
      found.forEach((each) => this.configureQueue(each));
      found.forEach((each) => this.schedules.add(queueOfHandler(each), each));
      this.bound = true;
    }
  }

  /**
   * Makes ready what the handlers in threads need.
   *
   * @throws InvalidOptionError where it is not there
   */
  async openThreads(): Promise<void> {
    const pools = [...this.threadPools];
    await Promise.all(pools.map(([pool, found]) => pool.open(this.queues.concurrencyOf(queueOfHandler(found)))));
  }

  /** Ends the threads that handlers run in; waits for their end for `timeoutMs` at most. */
  async close(timeoutMs: number): Promise<void> {
    await Promise.all([...this.threadPools.keys()].map((pool) => pool.close(timeoutMs)));
  }

  /** The queues that have handlers here. */
  get queueNames(): string[] {
    return [...this.byQueue.keys()];
  }

  /** The handlers of a queue by job name, as a worker takes them. */
  handlersOf(queue: string): Record<string, Handler> {
    const handlers = [...(this.byQueue.get(queue) ?? [])];
    return Object.fromEntries(handlers.map(([name, { handler }]) => [name, handler]));
  }

  /** The definition that the handler of a name in a queue is bound by; undefined where there is none. */
  definitionOf(queue: string, name: string): JobDefinition | undefined {
    return this.byQueue.get(queue)?.get(name)?.definition;
  }

  /**
   * The queue of the jobs of a name: that of the handler in this process, else the one named as the job.
   *
   * @throws InvalidOptionError where handlers of that name serve several queues
   */
  queueOf(name: string): string {
    // While Nest still makes providers, what is decorated is known already.
    const queues = this.bound
      ? this.queueNames.filter((queue) => this.byQueue.get(queue)!.has(name))
      : [
          ...new Set(
            this.explorer
              .find()
              .filter((each) => each.name === name)
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

  private add(found: FoundHandler): void {
    const { subject, name, options, definition } = found;
    checkJobName(name);
    const checked = checkOptions(subject, optionsSchema, options);
    const {
      queue: _queue,
      concurrency: _concurrency,
      prefetch: _prefetch,
      visibilityMs: _visibilityMs,
      maxRunning: _maxRunning,
      rateLimit: _rateLimit,
      groups: _groups,
      maxPending: _maxPending,
      thread: _thread,
      ...handlerOptions
    } = checked;
    const queue = queueOfHandler(found);
    checkQueueName(queue);
    const handlers = this.byQueue.get(queue) ?? new Map<string, FoundHandler & { handler: Handler }>();
    const other = handlers.get(name);
    if (other) {
      throw new InvalidOptionError(
        subject,
        `one handler of "${name}" in queue "${queue}"`,
        `another one, ${other.subject}`,
        'Is a class provided in two modules? Provide it in one and export it.',
      );
    }
    const handle = this.functionOf(found);
    const handler = definition
      ? { ...handlerOptions, ...handlerDefaults(definition), handle: checkedBySchema(definition, handle) }
      : { ...handlerOptions, handle };
    handlers.set(name, { ...found, handler });
    this.byQueue.set(queue, handlers);
  }

  private functionOf(found: FoundHandler): HandlerFunction {
    const { subject, method, options } = found;
    if (options?.thread === undefined) {
      const instance = usable(found);
      // Looked up at each call, so that a method that a test replaces is the one that runs.
      return (job) => (instance[method] as HandlerFunction).call(instance, job);
    }
    if (found.instance?.[method] !== undefined) {
      throw new InvalidOptionError(
        `${subject}.thread`,
        `a class without ${String(method)}, since the file does the work`,
        `${String(method)} beside it`,
      );
    }
    const pool = new ThreadPool(resolveThread(`${subject}.thread`, options.thread));
    this.threadPools.set(pool, found);
    return pool.handle;
  }

  /** A handler may speak for a queue that nobody shares with it; a shared queue has its options in one place. */
  private configureQueue(found: FoundHandler): void {
    const queue = queueOfHandler(found);
    const shared = queue !== found.name || this.byQueue.get(queue)!.size > 1;
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
      const { thread, prefetch, visibilityMs, maxRunning, rateLimit, groups, maxPending } = found.options;
      const { concurrency = thread === undefined ? undefined : availableParallelism() } = found.options;
      const limits = { maxRunning, rateLimit, groups, maxPending };
      this.queues.configure(queue, { concurrency, prefetch, visibilityMs, ...limits });
    }
    this.queues.queue(queue);
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

function usable({ subject, instance, method, unusableScope }: FoundHandler): NonNullable<FoundHandler['instance']> {
  if (unusableScope) {
    throw new InvalidOptionError(
      subject,
      'a provider of the default scope',
      `a ${unusableScope} one`,
      'Resolve what is scoped inside of it, through ModuleRef.',
    );
  }
  if (typeof instance?.[method] !== 'function') {
    throw new InvalidOptionError(subject, `a method ${String(method)}(job)`, show(instance?.[method]));
  }
  return instance;
}
