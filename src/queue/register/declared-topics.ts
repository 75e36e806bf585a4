import { withRemedy } from '../errors/redis-errors.js';
import { show } from '../errors/show.js';
import type { DeclaredSubscription } from '../model/topic.js';
import type { Timer } from '../runtime/clock.js';
import { keptIn } from '../runtime/collections.js';
import type { QueueAccess, QueueStore } from '../store/queue-store.js';

/** The pause after an error that passes, in ms. */
const SOON_MS = 1_000;
/** The pause after an error that stays until somebody changes the setup, in ms. */
const LATER_MS = 10_000;

/** The interval at which a process without a worker adds what the register has lost, in ms. A worker does so as often. */
const ADDED_MS = 120_000;

/** The subscriptions of topics that the code of this process declares in a store. */
export class DeclaredTopics {
  private static readonly known = new WeakMap<QueueStore, DeclaredTopics>();
  private readonly subscriptions: DeclaredSubscription[] = [];
  private register: QueueAccess | undefined;
  private written: Promise<void> | undefined;
  private again: Promise<void> | undefined;
  private timer: Timer | undefined;
  private beat: Timer | undefined;
  private failure: string | undefined;
  /** The workers and clients that still want the register kept. */
  private readonly keepers = new Set<object>();

  static of(store: QueueStore): DeclaredTopics {
    return keptIn(DeclaredTopics.known, store, () => new DeclaredTopics(store));
  }

  private constructor(private readonly store: QueueStore) {}

  /** True if the code of this process subscribes to no topic. */
  get isEmpty(): boolean {
    return this.subscriptions.length === 0;
  }

  /** @param register the queue by which this process reads the register of topics too */
  add(register: QueueAccess, subscription: DeclaredSubscription): void {
    this.register = register;
    this.subscriptions.push(subscription);
    this.written = undefined;
  }

  /** Waits until the register has all of them. After a failure the next call tries again. */
  whenWritten(): Promise<void> {
    this.written ??= this.write();
    return this.written;
  }

  /** Writes all of them, and goes on until the register has them. Resolves after the first try, whatever its outcome. */
  keepWriting(keeper: object): Promise<void> {
    this.keepers.add(keeper);
    return this.tryToWrite();
  }

  private async tryToWrite(): Promise<void> {
    this.store.clock.clear(this.timer);
    try {
      await this.whenWritten();
      this.failure = undefined;
    } catch (error) {
      if (this.keepers.size === 0) return;
      const passes = this.store.passes(error);
      const pauseMs = passes ? SOON_MS : LATER_MS;
      this.failed(error as Error, passes, pauseMs);
      this.store.clock.clear(this.timer); // another keeper may have set it meanwhile
      this.timer = this.store.clock.setTimeout(() => void this.tryToWrite(), pauseMs);
      this.timer.unref();
    }
  }

  /** Adds the subscriptions that Redis has lost. Moves no subscription to another queue. Calls of several queues share a write. */
  addMissing(): Promise<void> {
    this.again ??= this.declare(true).finally(() => {
      this.again = undefined;
    });
    return this.again;
  }

  /** Adds what the register has lost every two minutes, in a process without a worker. Does nothing without a subscription. */
  keepAdding(keeper: object): void {
    this.keepers.add(keeper);
    this.addLater();
  }

  private addLater(): void {
    this.store.clock.clear(this.beat);
    if (!this.isEmpty) {
      const add = () => {
        void this.addMissing().catch(() => undefined);
        this.addLater();
      };
      this.beat = this.store.clock.setTimeout(add, ADDED_MS);
      this.beat.unref();
    }
  }

  /** Tries no more once all have ended that keep the register. */
  end(keeper: object): void {
    this.keepers.delete(keeper);
    if (this.keepers.size > 0) return;
    this.store.clock.clear(this.timer);
    this.store.clock.clear(this.beat);
  }

  private async write(): Promise<void> {
    try {
      await this.declare(false);
    } catch (error) {
      this.written = undefined;
      throw error;
    }
  }

  private async declare(keepsKnown: boolean): Promise<void> {
    const { register, store } = this;
    // Only a store that has reached its Redis knows whether that is a Cluster.
    const placed = () => this.subscriptions.map((each) => ({ ...each, hashTag: each.hashTag ?? store.isSharded }));
    const moved = await register?.exec((calls) => calls.topics.declare({ keepsKnown, subscriptions: placed() }));
    moved?.forEach(({ topic, name, queue, before }) =>
      this.store.logger.warn(
        `Subscription ${show(name)} of topic ${show(topic)} has the queue ${show(queue)} from now on, because this app declares ` +
          `it so. Its jobs in queue ${show(before)} stay there. If another app has a subscription of that name, rename one of both.`,
      ),
    );
  }

  /** Logs an error once. */
  private failed({ message }: Error, passes: boolean, pauseMs: number): void {
    if (this.failure === message) return;
    this.failure = message;
    const text =
      `Could not declare the subscriptions of topics, which may get no publications until then; ` +
      `trying again every ${pauseMs / 1_000} s: ${withRemedy(message)}`;
    if (passes) {
      this.store.logger.warn(text);
    } else {
      this.store.logger.error(text);
    }
  }
}
