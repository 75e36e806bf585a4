import type { ResolvedQueueOptions } from '../../queue/model/queue-options.js';
import type { AttemptLimits } from '../../queue/store/store-calls.js';
import { WORKER_SEEN_MS } from '../../queue/runtime/lifetimes.js';
import { ANY_NAME, FAILURE_PREFIX } from '../../queue/validation/names.js';

const RETENTION = [
  'completedHistory',
  'failedHistory',
  'cancelledHistory',
  'deadLetterCap',
  'deadLetterAgeMs',
  'cancelledTtlMs',
  'visibilityMs',
] as const satisfies readonly (keyof ResolvedQueueOptions)[];

/** How long the ended jobs of a queue are kept, and the visibility timeout of their workers. */
type Retention = Pick<ResolvedQueueOptions, (typeof RETENTION)[number]>;

/** Returns the retention that the last worker announced, else that of the process whose call runs. */
export function retentionOf(queue: { announced: Announcements; options: Retention }): Retention {
  return queue.announced.retention ?? queue.options;
}

/** The announcements of a queue's workers; see lua/worker/register.lua. */
export class Announcements {
  /** The time of each worker's last announcement, in ms. */
  readonly workers = new Map<string, number>();
  /** The time of the last announcement of each name that workers handle, in ms. */
  readonly names = new Map<string, number>();
  readonly handlerLimits = new Map<string, { maxAttempts: number; maxCrashes: number }>();
  /** The options of the last worker that announced itself. */
  retention: Retention | undefined;
  /** The time when they are forgotten after a purge, unless a worker announces itself before, in ms. */
  expiresAt = Infinity;

  /** Returns when a handler of this name, or of every name, was last announced, in ms; 0 for never. */
  lastOf(name: string): number {
    const any = name.startsWith(FAILURE_PREFIX) ? 0 : (this.names.get(ANY_NAME) ?? 0);
    return Math.max(this.names.get(name) ?? 0, any);
  }

  /** Returns the live workers. An announcement later than now comes from a clock that was ahead, and does not count. */
  liveWorkers(now: number): { id: string; seenAt: number }[] {
    return [...this.workers]
      .filter(([, seenAt]) => seenAt >= now - WORKER_SEEN_MS && seenAt <= now)
      .map(([id, seenAt]) => ({ id, seenAt }));
  }

  /** Returns whether the last announcements have this retention and these limits of handlers. */
  hasLimits(retention: Retention, handlers: readonly AttemptLimits[]): boolean {
    const known = handlers.every(({ name, maxAttempts, maxCrashes }) => {
      const limits = this.handlerLimits.get(name);
      return limits?.maxAttempts === maxAttempts && limits.maxCrashes === maxCrashes;
    });
    return known && RETENTION.every((limit) => this.retention?.[limit] === retention[limit]);
  }

  /** Returns whether a live worker handles a name. */
  isServed(name: string, now: number): boolean {
    return this.liveWorkers(now).length > 0 && this.lastOf(name) >= now - WORKER_SEEN_MS;
  }

  /** Returns up to ten names that were announced since then, the latest first. */
  namesSince(since: number): string[] {
    return [...this.names]
      .filter(([, at]) => at >= since)
      .toSorted(([a, atA], [b, atB]) => atB - atA || (a < b ? 1 : -1))
      .slice(0, 10)
      .map(([name]) => name);
  }

  /** Forgets the handlers. The names of failure handlers stay, because a dead letter may still need its failure job. */
  forgetHandlers(): void {
    this.handlerLimits.clear();
    this.retention = undefined;
    for (const name of this.names.keys()) {
      if (!name.startsWith(FAILURE_PREFIX)) {
        this.names.delete(name);
      }
    }
  }
}
