// Checks I4: the work of a call is bounded, whatever the number of jobs.
import type { MemoryQueue } from '#memory/state/memory-queue.js';

/** A call looks at each job of a slice several times: 330 looks in 30,000 steps. */
const MOST_LOOKS = 2_000;

/**
 * The looks at each waiting job that a call of the memory store may take beside. A claim searches all of them for a free group
 * or a known name. It does so for each job that it takes, also ahead of free slots. A job that goes back searches for its place in its
 * group. The statistics count the jobs of groups.
 */
const LOOKS_PER_WAITING: Record<string, number> = {
  attemptClaim: 160,
  attemptRelease: 100,
  sweepReclaim: 100,
  sweepReclaimWorker: 100,
  queueStats: 1,
};

/** The most jobs that one claim moves: a slice of due jobs becomes ready, and some are taken. */
const MOST_MOVED = 120;

export class WorkCheck {
  private looks = 0;
  private readonly watched = new Set<MemoryQueue['jobs']>();

  /** Counts the jobs that calls look at, from the first call on that sees the queue. */
  before(queue: MemoryQueue): { line: number; claimed: number; scheduled: number } {
    const { jobs, pending, prioritized, scheduled, claims } = queue;
    if (!this.watched.has(jobs)) {
      this.watched.add(jobs);
      const get = jobs.get.bind(jobs);
      jobs.get = (id) => {
        this.looks++;
        return get(id);
      };
    }
    this.looks = 0;
    return { line: pending.length + prioritized.size, claimed: claims.size, scheduled: scheduled.size };
  }

  after(
    script: string,
    queues: readonly MemoryQueue[],
    before: readonly ReturnType<WorkCheck['before']>[],
  ): string[] {
    const isClaim = script === 'attemptClaim';
    const line = before.reduce((sum, queue) => sum + queue.line + queue.scheduled, 0);
    const most = MOST_LOOKS + (LOOKS_PER_WAITING[script] ?? 0) * line;
    const moved = queues.reduce((sum, { claims, scheduled }, i) => {
      const was = before[i] ?? { claimed: 0, scheduled: 0 };
      return sum + Math.max(0, claims.size - was.claimed) + Math.max(0, was.scheduled - scheduled.size);
    }, 0);
    return [
      ...(this.looks > most ? [`I4: one call of ${script} looked at jobs ${this.looks} times`] : []),
      ...(isClaim && moved > MOST_MOVED ? [`I4: one claim moved ${moved} jobs`] : []),
    ];
  }
}
