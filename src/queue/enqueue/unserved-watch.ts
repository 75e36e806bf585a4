import { SafeLogger } from '../errors/safe-logger.js';
import { show } from '../errors/show.js';
import type { Timer } from '../runtime/clock.js';
import type { QueueAccess } from '../store/queue-store.js';

/**
 * The delay of the check for a worker after the first enqueue of a name, in ms. By then the workers of a fleet that
 * starts, or of a deploy, have announced their names.
 */
const LOOK_AFTER_MS = 60_000;

/** The most remembered names of a queue. */
const MOST_NAMES = 1_000;

/**
 * Logs once per name that enqueued jobs wait and no live worker handles their name, which may be misspelled. It checks
 * a while after a name's first enqueue. Each enqueue costs only a look-up in a set.
 */
export class UnservedWatch {
  private readonly known = new Set<string>();
  private readonly asked = new Map<string, { id: string; name: string }>();
  private timer: Timer | undefined;

  constructor(
    private readonly queue: QueueAccess & {
      /** Returns what to say of a name that no live worker handles; '' for nothing. */
      unservedHint?: (job: string) => string;
    },
    private readonly lookAfterMs: number = LOOK_AFTER_MS,
  ) {}

  /** Records an added job. */
  added(id: string, name: string): void {
    if (this.known.has(name) || this.known.size >= MOST_NAMES || SafeLogger.of(this.queue.store.logger).isSilent) {
      return;
    }
    this.known.add(name);
    this.asked.set(name, { id, name });
    if (!this.timer) {
      this.timer = this.queue.store.clock.setTimeout(() => void this.warnOfUnserved(), this.lookAfterMs);
      this.timer.unref();
    }
  }

  close(): void {
    this.queue.store.clock.clear(this.timer);
    this.asked.clear();
  }

  private async warnOfUnserved(): Promise<void> {
    this.timer = undefined;
    const jobs = [...this.asked.values()];
    this.asked.clear();
    const { store, name: queue } = this.queue;
    try {
      const { waiting, workers, names } = await this.queue.exec((calls) => calls.unserved({ jobs }));
      const served = names.length > 0 ? `they handle ${names.map(show).join(', ')}` : 'they handle no name';
      for (const { id, name } of waiting.map((index) => jobs[index]!)) {
        store.logger.warn(
          `No live worker handles the name ${show(name)} in queue "${queue}": job ${id} waits for one. ` +
            `${workers === 0 ? 'The queue has no live worker' : `Live workers of the queue: ${workers}; ${served}`}. ` +
            `Check the spelling of the name, or deploy a handler for it.${this.queue.unservedHint?.(name) ?? ''}`,
        );
      }
    } catch {
      jobs.forEach(({ name }) => this.known.delete(name)); // the next enqueue of the name asks again
    }
  }
}
