// Checks that a worker without `prefetch` claims few jobs ahead: those that start soon.
import type { QueueView } from '#memory/server/observed-server.js';
import { markOf } from './queue-reads.js';

/** The unstarted jobs that a worker may hold at any pace. */
const FEW_HELD = 24;

/**
 * The time in which the ends of a worker's last jobs reach the server, in ms. It may hold what starts within 7 ms at the
 * lower of its last two rates. Each rate is measured over 5 ms or more. So more jobs have ended than it holds.
 */
const ENDS_MS = 500;

/** Calls by which a worker ends jobs. */
const ENDS = new Set(['attemptComplete', 'attemptFail']);

export class HeldCheck {
  /** The times at which jobs of each worker ended. */
  private readonly ends = new Map<string, number[]>();

  /** @param nowMs a time that never jumps */
  constructor(private readonly nowMs: () => number) {}

  /** Notes the jobs that a call of a worker ended. */
  ended(script: string, worker: string, count: number): void {
    if (ENDS.has(script) && count > 0) {
      this.ends.set(worker, [...this.recent(worker), ...Array.from({ length: count }, () => this.nowMs())]);
    }
  }

  /**
   * Returns what is wrong after a claim that brought a worker a job ahead. An isolated job waits for another reason.
   *
   * @param before the jobs that were claimed before
   */
  tooMany(queue: QueueView, worker: string, before: ReadonlyMap<string, unknown>): string[] {
    const claimed = queue.claims.members();
    if (claimed.every((id) => before.has(id))) return [];
    const held = claimed.filter((id) => {
      if (queue.jobField(id, 'worker') !== worker) return false;
      const job = queue.job(id)!;
      return markOf(job) !== undefined && job.crashes === undefined;
    });
    const isAhead = held.some((id) => !before.has(id));
    return isAhead && held.length > Math.max(FEW_HELD, this.recent(worker).length)
      ? [`ahead: ${worker} holds ${held.length} jobs of ${queue.name} that have not started`]
      : [];
  }

  private recent(worker: string): number[] {
    return (this.ends.get(worker) ?? []).filter((atMs) => atMs >= this.nowMs() - ENDS_MS);
  }
}
