import { OtherQueues } from '../inspect/other-queues.js';
import type { QueueVerdict } from '../inspect/queue-signs.js';
import { readSigns } from '../inspect/signs.js';
import { unreadableByAny } from '../inspect/unreadable.js';
import { verdictOf } from '../inspect/verdict.js';
import type { QueueRegistry } from '../nest/connection/queue-registry.js';
import { keptIn } from '../queue/runtime/collections.js';

/** The time between two readings of the queues that the app does not know, in ms. A check asks each few seconds. */
const KEPT_MS = 30_000;
/** The most queues of a reading. */
const MOST = 50;

/** Reads the verdicts on the queues of a Redis that the app does not know. */
export class OtherQueuesWatch {
  private static readonly known = new WeakMap<QueueRegistry, OtherQueuesWatch>();
  private readonly others: OtherQueues;
  private verdicts: readonly QueueVerdict[] = [];
  private readAtMs = -Infinity;
  private reading: Promise<void> | undefined;

  static of(registry: QueueRegistry): OtherQueuesWatch {
    return keptIn(OtherQueuesWatch.known, registry, () => new OtherQueuesWatch(registry));
  }

  private constructor(private readonly registry: QueueRegistry) {
    this.others = new OtherQueues((name) => registry.reference(name));
  }

  /** Returns the verdicts of the last reading on the queues that need a look. */
  get latest(): readonly QueueVerdict[] {
    return this.verdicts;
  }

  /** Starts the next reading when it is due. A check never waits for it, and never fails by it. */
  refresh(): void {
    const now = performance.now();
    if (this.reading || now - this.readAtMs < KEPT_MS) {
      return;
    }
    this.readAtMs = now;
    this.reading = this.look()
      .then(
        (verdicts) => void (this.verdicts = verdicts),
        (error: unknown) =>
          this.registry.redis.store.logger.warn(
            `Could not read the other queues of this Redis: ${error instanceof Error ? error.message : String(error)}`,
          ),
      )
      .finally(() => (this.reading = undefined));
  }

  private async look(): Promise<QueueVerdict[]> {
    const own = this.registry.all.map((queue) => queue.name);
    await this.others.look(own);
    const names = this.others.names.filter((name) => !this.registry.has(name)).slice(0, MOST);
    const all = await Promise.all(names.map((name) => this.verdictOn(name)));
    return all.filter(({ severity }) => severity === 'warning' || severity === 'critical');
  }

  private verdictOn(name: string): Promise<QueueVerdict> {
    return readSigns(this.registry.reference(name)).then(verdictOf, (error: unknown) =>
      unreadableByAny(name, error),
    );
  }
}
