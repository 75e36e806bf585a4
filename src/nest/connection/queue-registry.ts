import type { JobDefinition } from '../../queue/enqueue/define-job.js';
import type { EnqueueMiddleware } from '../../queue/enqueue/enqueue-middleware.js';
import { InvalidOptionError, QueueLayoutError } from '../../queue/errors/errors.js';
import { JobQueue } from '../../queue/job-queue.js';
import { type OwnQueueOptions, type QueueOptions, resolveQueueOptions } from '../../queue/model/queue-options.js';
import { shardName, shardNames, wholeOfShard } from '../../queue/model/spread.js';
import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import type { Clock, Timer } from '../../queue/runtime/clock.js';
import { own, withoutUndefined } from '../../queue/runtime/collections.js';
import type { OutboxWriter } from '../../queue/store/outbox-writer.js';
import { checkQueueName } from '../../queue/validation/names.js';
import type { QueueSettings, ResolvedModuleOptions } from '../job-queue.options.js';
import type { ServerConnection } from './server-connection.js';
import { refuseOfOneQueue, type SpreadQueue } from '../../spread/spread-queue.js';
import { spreadOver } from '../../spread/whole-queue.js';

const DEFAULT_CONCURRENCY = 10;

/** The options that a handler sets for its own queue. */
type OptionsOfHandler = OwnQueueOptions & Pick<QueueSettings, 'concurrency' | 'prefetch' | 'spread'>;

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
  private readonly spreadQueues = new Map<string, SpreadQueue>();
  /** The names of queues without shards that classes inject. */
  private readonly injectedNames = new Set<string>();
  /** The queue of each shard, by the shard's name. */
  private readonly queueOfShard = new Map<string, string>();
  private readonly watchers = new Set<QueueWatcher>();
  /** Returns the definition of the handler of a job's name in a queue. It checks payloads that operators edit. */
  definitionOf: (queue: string, job: string) => JobDefinition | undefined = () => undefined;
  /** Finds the queue of members of a batch as an enqueue does: one for all, or the shard of each. */
  targetsOf: (
    job: string | JobDefinition,
    queue: string | undefined,
    members: readonly object[],
  ) => JobQueue | readonly JobQueue[] = (job, queue) =>
    this.reference(queue ?? (typeof job === 'string' ? job : job.name));
  /** The outbox of the app, for enqueues in a transaction. */
  outbox: OutboxWriter | undefined;
  /** Looks at the name of a queue whose state a call has changed. */
  afterChange: (queue: JobQueue, verb: string) => Promise<void> = () => Promise.resolve();
  /** Returns what to say of a name that no live worker handles; '' for nothing. */
  unservedHint: (queue: string, job: string) => string = () => '';
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
    Object.keys(settings.queues).forEach((name) => {
      this.queue(name);
      this.spread(name);
    });
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

  /** Returns whether the code of the app names this queue. One that a call merely asked for is known for some minutes. */
  declares(name: string): boolean {
    const queue = this.byName.get(name);
    return queue !== undefined && !this.requests.has(queue);
  }

  /** Returns the queue that a class injects. */
  injected(name: string): JobQueue {
    this.injectedNames.add(name);
    return this.queue(name);
  }

  /** @throws InvalidOptionError if a class has a queue that gets shards later, because it has one of them */
  private refuseInjected(name: string): void {
    if (this.injectedNames.has(name)) {
      const hint = 'Set the spread in forRoot({ queues }), because the handler is known only after the injection.';
      throw new InvalidOptionError(`@InjectQueue("${name}")`, 'a queue without `spread`', 'one with shards', hint);
    }
  }

  /** Returns the shards of a queue; undefined for a queue without `spread`. */
  spreadOf(name: string): SpreadQueue | undefined {
    return this.spreadQueues.get(name);
  }

  /** True if some queue has shards. */
  get hasSpreads(): boolean {
    return this.spreadQueues.size > 0;
  }

  /** The queues with shards. */
  get spreads(): SpreadQueue[] {
    return [...this.spreadQueues.values()];
  }

  /** Returns the shards of a queue; the queue itself if it has none. */
  shardsOf(name: string): readonly JobQueue[] {
    return this.spreadQueues.get(name)?.shards ?? [this.queue(name)];
  }

  /** Returns whether a name is that of a shard of this app. */
  isShard(name: string): boolean {
    return this.queueOfShard.has(name);
  }

  /** Returns the name of the queue that a shard is part of; that of any other queue unchanged. */
  wholeOf(name: string): string {
    return this.queueOfShard.get(name) ?? name;
  }

  /** Makes the shards of a queue with `spread`, once. @throws InvalidOptionError for an option that counts in one queue */
  private spread(name: string): void {
    const number = own(this.settings.queues, name)?.spread ?? this.own.get(name)?.spread ?? 1;
    if (number === 1) {
      return;
    }
    refuseOfOneQueue(name, this.optionsOf(name));
    if (!this.spreadQueues.has(name)) {
      this.refuseInjected(name);
      const names = shardNames(name, number);
      names.forEach((each) => this.queueOfShard.set(each, name));
      const shards = names.map((each) => this.queue(each));
      const made = spreadOver(name, shards, {
        reference: (shard) => this.reference(shardName(name, shard)),
        spreadOf: (other) => this.spreadOf(other),
      });
      this.spreadQueues.set(name, made);
    }
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
      queue.definitionOf = (job) => this.definitionOf(this.wholeOf(name), job);
      queue.outbox = () => this.outbox;
      queue.queueOfMember = (job, asked, members) =>
        asked instanceof JobQueue && this.spreadOf(asked.name)?.whole !== asked
          ? asked
          : this.targetsOf(job, asked instanceof JobQueue ? asked.name : asked, members);
      queue.queueOfFollowUp = (other, followUp) => {
        const spread = this.spreadOf(other);
        return spread && (spread.ofJob('batch', followUp) ?? spread.next());
      };
      queue.afterChange = (verb) => this.afterChange(made, verb);
      queue.unservedHint = (job) => this.unservedHint(this.wholeOf(name), job);
    }
    this.referenced.set(name, queue);
    return queue;
  }

  /** Sets the options of a handler for its own queue, which may have been injected before. */
  configure(name: string, options: OptionsOfHandler): void {
    this.own.set(name, options);
    this.spread(name);
    const known = this.spreadQueues.get(name)?.shards ?? [this.referenced.get(name)];
    for (const queue of known) {
      if (queue) Object.assign(queue.options, resolveQueueOptions(`queue "${name}"`, this.optionsOf(name)));
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
    const whole = wholeOfShard(name); // perhaps of a queue whose shards only other processes know
    const settings = withoutSlots(own(this.settings.queues, whole));
    const ofHandler = withoutSlots(this.own.get(whole));
    return { ...this.settings.queueDefaults, ...withoutUndefined(ofHandler), ...settings };
  }
}

/** Returns the options of a queue without those of its slots in a process and of its shards. */
function withoutSlots(options: OptionsOfHandler | QueueSettings | undefined): QueueOptions {
  const { concurrency: _concurrency, prefetch: _prefetch, spread: _spread, ...others } = options ?? {};
  return others;
}

/** The time without a call after which a process releases a queue that it only requested, in ms. */
export const UNUSED_MS = 5 * 60_000;

/** The interval of the looks at unused queues, in ms. */
export const LOOK_MS = 60_000;

/** The most queues whose jobs are counted at the same time. */
const MOST_AT_ONCE = 50;

/** The list of known queues. */
interface KnownQueues {
  /** Returns whether a listener follows all known queues. */
  isWatched(): boolean;
  add(queue: JobQueue): void;
  remove(queues: ReadonlySet<JobQueue>): void;
}

/**
 * The queues that only calls of this process name. A name that is no longer used must cost nothing. So the process
 * releases its queue after some minutes. It keeps a queue with jobs that wait or run, because their maintenance may be its own.
 *
 * An app may hold such a queue. Its next call makes the queue known again.
 */
class RequestedQueues implements BackgroundRole {
  /** The time of the last request of each queue, by the monotonic clock. */
  private readonly usedAt = new Map<JobQueue, number>();
  /** The released queues that the app still holds. */
  private readonly released = new Map<string, WeakRef<JobQueue>>();
  private timer: Timer | undefined;
  private running: Promise<void> | undefined;

  constructor(
    private readonly redis: Pick<ServerConnection, 'store'>,
    private readonly known: KnownQueues,
  ) {}

  /** Notes a request. @param isNew true if the request made the queue known */
  used(queue: JobQueue, isNew: boolean): void {
    if (isNew) {
      this.taken(queue);
    }
    if (isNew || this.usedAt.has(queue)) {
      this.usedAt.set(queue, this.clock.monotonic());
      this.start();
    }
  }

  /** Returns whether a queue is known by requests alone. */
  has(queue: JobQueue): boolean {
    return this.usedAt.has(queue);
  }

  /** Keeps a queue as long as the process runs. */
  keep(queue: JobQueue): void {
    this.taken(queue);
    this.usedAt.delete(queue);
  }

  /** Returns the queue that the app still holds, so that a name has one object. */
  heldByApp(name: string): JobQueue | undefined {
    return this.released.get(name)?.deref();
  }

  /** Starts with the first request. A further call changes nothing. */
  start(): void {
    if (!this.timer) {
      this.timer = this.clock.setInterval(() => void this.runOnce(), LOOK_MS);
      this.timer.unref();
    }
  }

  stop(): void {
    this.clock.clear(this.timer);
  }

  /** Releases each queue that no call used for five minutes, if it is idle. Joins a look in progress. */
  runOnce(): Promise<void> {
    this.running ??= this.look().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  private async look(): Promise<void> {
    this.released.forEach((queue, name) => queue.deref() ?? this.released.delete(name));
    const unused = this.unused();
    const idle = new Set<JobQueue>();
    for (let i = 0; i < unused.length; i += MOST_AT_ONCE) {
      const looks = unused
        .slice(i, i + MOST_AT_ONCE)
        .map(async (queue) => (await isIdle(queue)) && idle.add(queue));
      await Promise.all(looks);
    }
    // A call may have come meanwhile.
    const gone = new Set(this.unused().filter((queue) => idle.has(queue)));
    if (gone.size > 0) {
      gone.forEach((queue) => this.release(queue));
      this.known.remove(gone);
    }
  }

  private get clock(): Clock {
    return this.redis.store.clock;
  }

  private unused(): JobQueue[] {
    const since = this.clock.monotonic() - UNUSED_MS;
    return this.known.isWatched() ? [] : [...this.usedAt].flatMap(([queue, at]) => (at <= since ? [queue] : []));
  }

  private release(queue: JobQueue): void {
    this.usedAt.delete(queue);
    this.released.set(queue.name, new WeakRef(queue));
    queue.onUse = () => {
      this.known.add(queue);
      this.used(queue, true);
    };
  }

  private taken(queue: JobQueue): void {
    queue.onUse = undefined;
    this.released.delete(queue.name);
  }
}

/** Returns whether no job of a queue waits or runs, and no id is remembered, which maintenance forgets. A queue that cannot be read stays. */
async function isIdle(queue: JobQueue): Promise<boolean> {
  try {
    const { pending, scheduled, processing, rememberedIds } = await queue.stats();
    return pending + scheduled + processing === 0 && rememberedIds === undefined;
  } catch {
    return false; // the next look asks again
  }
}
