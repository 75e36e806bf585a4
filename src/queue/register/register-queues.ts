import { show } from '../errors/show.js';
import type { QueueAccess, QueueStore } from '../store/queue-store.js';
import { keptIn } from '../runtime/collections.js';
import { outsideOfCaller } from '../runtime/clock.js';
import { DeclaredTopics } from './declared-topics.js';

/** The time before the next attempt after a passing fault, in ms. */
const AGAIN_MS = 10_000;

/** The names that this process has added to the register of a store. */
class Registrations {
  private static readonly known = new WeakMap<QueueStore, Registrations>();
  private readonly names = new Set<string>();
  private waiting: QueueAccess[] = [];
  private hasWarned = false;

  static of(store: QueueStore): Registrations {
    return keptIn(Registrations.known, store, () => new Registrations(store));
  }

  private constructor(private readonly store: QueueStore) {}

  add(queues: readonly QueueAccess[]): void {
    const unknown = queues.filter((queue) => !this.names.has(idOf(queue)));
    unknown.forEach((queue) => this.names.add(idOf(queue)));
    this.waiting.push(...unknown);
    if (unknown.length > 0 && this.waiting.length === unknown.length) {
      void outsideOfCaller(() => Promise.resolve().then(() => this.send()));
    }
  }

  /** Adds a queue again, because its Redis may have lost its data. */
  addAgain(queue: QueueAccess): void {
    this.names.delete(idOf(queue));
    this.add([queue]);
  }

  /** Sends the names that became known in one tick. */
  private async send(): Promise<void> {
    const queues = this.waiting;
    this.waiting = [];
    try {
      const calls = await Promise.all(queues.map((queue) => queue.calls()));
      const outcomes = await this.store.queues.register(calls, queues[0]!.callLimit);
      const refused = outcomes.find((outcome) => !outcome.ok);
      if (refused && !refused.ok) {
        throw refused.error;
      }
    } catch (error) {
      this.failed(queues, error as Error);
    }
  }

  private failed(queues: readonly QueueAccess[], error: Error): void {
    if (this.store.passes(error)) {
      const again = () => {
        queues.forEach((queue) => this.names.delete(idOf(queue)));
        this.add(queues);
      };
      this.store.clock.setTimeout(again, AGAIN_MS).unref();
    } else if (!this.hasWarned) {
      this.hasWarned = true;
      this.store.logger.warn(
        `Could not add queue ${show(queues[0]!.name)} to the register of queues, so a dashboard of another app may not ` +
          `list it: ${error.message}`,
      );
    }
  }
}

/** Adds queues to the register of their Redis, each once for a process. Returns at once. */
export function registerQueues(...queues: readonly QueueAccess[]): void {
  const [first] = queues;
  if (first) {
    Registrations.of(first.store).add(queues);
  }
}

/** Adds a queue and the subscriptions of this process again, because Redis may have lost its data. Returns at once. */
export function registerAgain(queue: QueueAccess): void {
  Registrations.of(queue.store).addAgain(queue);
  declareLostTopics(queue.store);
}

/** Adds the subscriptions of this process that Redis has lost. Returns at once. If it fails, the next check adds them. */
export function declareLostTopics(store: QueueStore): void {
  void DeclaredTopics.of(store)
    .addMissing()
    .catch(() => undefined);
}

/** Returns a function that adds the queue to the register when it is called first. */
export function registration(queue: QueueAccess): () => void {
  let isAdded = false;
  return () => {
    if (!isAdded) {
      isAdded = true;
      registerQueues(queue);
    }
  };
}

function idOf({ name, options: { prefix } }: QueueAccess): string {
  return `${prefix} ${name}`;
}
