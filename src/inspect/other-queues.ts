// The queues of a Redis that an app does not know.
import type { JobQueue } from '../queue/job-queue.js';
import { isQueueName } from '../queue/validation/names.js';
import type { Settled } from '../queue/store/store-call.js';
import type { Look } from '../queue/store/queues-verbs.js';
import type { Place } from '../queue/validation/key-table.js';

/** The most names of the register that one look reads. */
const MOST_NAMES = 2_000;
/** The most queues that are shown beside those of an app. */
const MOST_SHOWN = 200;
/** The time between two looks, in ms. */
const KEPT_MS = 5_000;
/** The places of a queue that has jobs, schedules or batches. */
const PLACES: readonly Place[] = [
  'pending',
  'prioritized',
  'scheduled',
  'claims',
  'processing',
  'completed',
  'failed',
  'dead',
  'scheduleDue',
  'batches',
  'groupDepths',
];

/** Finds the queues in the register of a Redis, and keeps what it has found for some seconds. */
export class OtherQueues {
  /** The names that the last look found. */
  names: readonly string[] = [];
  private lookedAtMs = -Infinity;
  private looking: Promise<void> | undefined;
  private hasWarned = false;
  /** Queues that were asked for by name, such as one of clients in other languages. They are in no register. */
  private readonly asked = new Set<string>();
  /** The name of the queue through which others are looked at. */
  private door = ANY_QUEUE;

  /** @param queueOf returns a queue that this process does not maintain */
  constructor(private readonly queueOf: (name: string) => JobQueue) {}

  /** Looks for queues other than those of the app. */
  look(own: readonly string[]): Promise<void> {
    if (performance.now() - this.lookedAtMs < KEPT_MS) {
      return Promise.resolve();
    }
    this.looking ??= this.read(new Set(own)).finally(() => (this.looking = undefined));
    return this.looking;
  }

  /** Returns whether a queue of this name has anything. */
  async isThere(name: string): Promise<boolean> {
    const [found] = await this.holding(this.queueOf(this.door), [name]);
    if (found === undefined) {
      return false;
    }
    this.asked.add(name);
    this.names = [...new Set([...this.names, name])];
    return true;
  }

  /** Reads the register. Where Redis refuses, the names of the look before stay, and the queues of the app are shown. */
  private async read(own: ReadonlySet<string>): Promise<void> {
    this.door = [...own][0] ?? ANY_QUEUE;
    const first = this.queueOf(this.door);
    try {
      const registered = await first.store.queues.registered(await first.calls(), MOST_NAMES, first.callLimit);
      const others = [...new Set([...registered, ...this.asked])].filter(
        (name) => isQueueName(name) && !own.has(name), // any program can write to the register
      );
      this.names = (await this.holding(first, others)).slice(0, MOST_SHOWN);
      this.hasWarned = false;
    } catch (error) {
      if (!this.hasWarned) {
        this.hasWarned = true;
        first.store.logger.warn(`Could not look for other queues of this Redis: ${(error as Error).message}`);
      }
    }
    this.lookedAtMs = performance.now();
  }

  /**
   * Returns the names of the queues that have anything. Leaves out a queue whose look failed. Makes no object for a
   * name, because the register may have thousands of them.
   *
   * @throws the first error if every look failed
   */
  private async holding(through: JobQueue, names: readonly string[]): Promise<string[]> {
    if (names.length === 0) {
      return [];
    }
    await through.calls();
    const calls = names.map((name) => through.store.callsOf(name, through.options));
    const looks: Settled<Look>[] = await through.store.queues.look(calls, PLACES, through.callLimit);
    const [first] = looks;
    if (first?.ok === false && looks.every(({ ok }) => !ok)) {
      throw first.error;
    }
    return names.filter((_, i) => {
      const look = looks[i]!;
      return look.ok && look.reply.found.size > 0;
    });
  }
}

/** The name of a queue by which the register is read where the app has none. */
const ANY_QUEUE = 'any';
