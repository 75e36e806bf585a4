import { JobQueue } from '../../queue/job-queue.js';
import type { JobDefinition } from '../../queue/enqueue/define-job.js';
import type { EnqueueMiddleware } from '../../queue/enqueue/enqueue-middleware.js';
import { QueueLayoutError } from '../../queue/errors/layout-error.js';
import { own } from '../../queue/runtime/fields.js';
import type { OutboxWriter } from '../../queue/store/verbs/outbox-writer.js';
import { checkQueueName } from '../../queue/validation/names.js';
import { resolveQueueOptions, type OwnQueueOptions, type QueueOptions } from '../../queue/model/queue-options.js';
import { withoutUndefined } from '../../queue/runtime/fields.js';
import type { QueueSettings, ResolvedModuleOptions } from '../options/job-queue.options.js';
import { RequestedQueues } from './requested-queues.js';
import type { ServerConnection } from './server-connection.js';

const DEFAULT_CONCURRENCY = 10;

/** The options that a handler sets for its own queue. */
type OptionsOfHandler = OwnQueueOptions & Pick<QueueSettings, 'concurrency' | 'prefetch'>;

/** Receives the queues that become known. */
interface QueueWatcher {
  added(queue: JobQueue): void;
  /** Called when no queue can be used any more. */
  closed(): void;
  /** True if the watcher follows all queues that this process has known. Meanwhile it releases none. */
  keepsAll?: boolean;
}

/** All queues that this process knows: of its handlers, of `forRoot({ queues })`, injected and requested ones. */
export class QueueRegistry {
  private readonly byName = new Map<string, JobQueue>();
  /** Made, but not known to be used by this app. */
  private readonly referenced = new Map<string, JobQueue>();
  private readonly own = new Map<string, OptionsOfHandler>();
  private readonly watchers = new Set<QueueWatcher>();
  /** Returns the definition of the handler of a job's name in a queue. It checks payloads that operators edit. */
  definitionOf: (queue: string, job: string) => JobDefinition | undefined = () => undefined;
  /** Finds the queue of a job by its definition or name, as an enqueue does. */
  targetOf: (job: string | JobDefinition, queue: string | undefined) => JobQueue = (job, queue) =>
    this.reference(queue ?? (typeof job === 'string' ? job : job.name));
  /** The outbox of the app, for enqueues in a transaction. */
  outbox: OutboxWriter | undefined;
  /** Looks at the name of a queue whose state a call has changed. */
  afterChange: (queue: JobQueue, verb: string) => Promise<void> = () => Promise.resolve();
  /** The queues in the order in which they became known. A requested queue leaves the list when no call uses it for minutes. */
  readonly all: JobQueue[] = [];
  private readonly requests: RequestedQueues;

  constructor(
    private readonly settings: Pick<ResolvedModuleOptions, 'queueDefaults' | 'queues'>,
    readonly redis: ServerConnection,
    private readonly middleware: readonly EnqueueMiddleware[] = [],
  ) {
    this.outbox = redis.outbox;
    this.requests = new RequestedQueues(redis, {
      isWatched: () => [...this.watchers].some(({ keepsAll }) => keepsAll),
      add: (queue) => this.add(queue),
      remove: (queues) => this.remove(queues),
    });
    Object.keys(settings.queues).forEach((name) => this.queue(name));
  }

  /**
   * Returns the queue of a name, always the same object. This process maintains the queue as long as it runs.
   *
   * @throws InvalidOptionError for a name that cannot be part of a key
   */
  queue(name: string): JobQueue {
    const queue = this.known(name);
    this.requests.keep(queue);
    return queue;
  }

  /**
   * Returns the queue of a name for a call, always the same object while the app holds it. When no call names it for some
   * minutes, this process releases the queue. It keeps a queue that it serves, configures or injects.
   *
   * @throws InvalidOptionError for a name that cannot be part of a key
   */
  requested(name: string): JobQueue {
    const isNew = !this.byName.has(name);
    const queue = this.known(name);
    this.requests.used(queue, isNew);
    return queue;
  }

  private known(name: string): JobQueue {
    let queue = this.byName.get(name);
    if (!queue) {
      queue = this.reference(name);
      this.add(queue);
    }
    return queue;
  }

  private add(queue: JobQueue): void {
    this.byName.set(queue.name, queue);
    this.referenced.set(queue.name, queue);
    this.all.push(queue);
    for (const watcher of this.watchers) {
      watcher.added(queue);
    }
  }

  private remove(queues: ReadonlySet<JobQueue>): void {
    for (const { name } of queues) {
      this.byName.delete(name);
      this.referenced.delete(name);
    }
    const stay = this.all.filter((queue) => !queues.has(queue));
    this.all.splice(0, this.all.length, ...stay);
  }

  /** Returns whether a queue of this name is known. */
  has(name: string): boolean {
    return this.byName.has(name);
  }

  /**
   * Returns the queue of a name. This process does not maintain the queue for it.
   *
   * @throws InvalidOptionError for a name that cannot be part of a key
   */
  reference(name: string): JobQueue {
    let queue = this.referenced.get(name) ?? this.requests.heldByApp(name);
    if (!queue) {
      checkQueueName(name);
      queue = new JobQueue(this.redis.store, name, { ...this.optionsOf(name), middleware: this.middleware });
      const made = queue;
      queue.definitionOf = (job) => this.definitionOf(name, job);
      queue.outbox = () => this.outbox;
      queue.queueOfMember = (job, asked) => (asked instanceof JobQueue ? asked : this.targetOf(job, asked));
      queue.afterChange = (verb) => this.afterChange(made, verb);
    }
    this.referenced.set(name, queue);
    return queue;
  }

  /** Sets the options of a handler for its own queue, which may have been injected before. */
  configure(name: string, options: OptionsOfHandler): void {
    this.own.set(name, options);
    const known = this.referenced.get(name);
    if (known) {
      Object.assign(known.options, resolveQueueOptions(`queue "${name}"`, this.optionsOf(name)));
    }
  }

  /** Returns whether `forRoot({ queues })` names the queue. */
  isConfigured(name: string): boolean {
    return own(this.settings.queues, name) !== undefined;
  }

  /** Returns how many of the queue's jobs this process runs at once. */
  concurrencyOf(name: string): number {
    return own(this.settings.queues, name)?.concurrency ?? this.own.get(name)?.concurrency ?? DEFAULT_CONCURRENCY;
  }

  /** Returns how many more jobs it prefetches, if an option says so. */
  prefetchOf(name: string): number | undefined {
    return own(this.settings.queues, name)?.prefetch ?? this.own.get(name)?.prefetch;
  }

  /** Calls the watcher with each queue that becomes known. Returns a function that unsubscribes. */
  watch(watcher: QueueWatcher): () => void {
    this.watchers.add(watcher);
    return () => void this.watchers.delete(watcher);
  }

  /**
   * Checks the layouts of the queues that are known now. Other failures are left to the first call that meets them.
   *
   * @throws QueueLayoutError
   */
  async checkLayouts(): Promise<void> {
    await Promise.all(
      this.all.map(async (queue) => {
        try {
          await queue.calls();
        } catch (error) {
          if (error instanceof QueueLayoutError) throw error;
        }
      }),
    );
  }

  /** Closes the connections that the queues opened for themselves. */
  close(): void {
    this.requests.stop();
    this.watchers.forEach((watcher) => watcher.closed());
    this.referenced.forEach((queue) => queue.close());
  }

  private optionsOf(name: string): QueueOptions {
    const { concurrency: _concurrency, prefetch: _prefetch, ...settings } = own(this.settings.queues, name) ?? {};
    const { concurrency: _own, prefetch: _ownPrefetch, ...ofHandler } = this.own.get(name) ?? {};
    return { ...this.settings.queueDefaults, ...withoutUndefined(ofHandler), ...settings };
  }
}
