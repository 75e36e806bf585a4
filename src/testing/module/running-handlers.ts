import type { Job } from '../../worker/handlers/job.js';
import { inRealTime, turn } from '../time/real-time.js';

interface Running {
  readonly job: Job;
  /** True after it did nothing for so long that it seems to wait for the clock. */
  waits: boolean;
}

/** The handlers that run now, and whether they do something or wait for the clock of the test. */
export class RunningHandlers {
  private readonly running = new Set<Running>();
  private readonly waiters = new Set<() => void>();

  /** Runs an attempt, and knows of it until it ends. */
  async track<Result>(job: Job, attempt: () => Promise<Result>): Promise<Result> {
    const running = { job, waits: false };
    this.running.add(running);
    try {
      return await attempt();
    } finally {
      this.running.delete(running);
      this.active();
    }
  }

  /** Runs a call of several attempts, and knows of each until it ends. */
  trackAll<Result>(jobs: readonly Job[], call: () => Promise<Result>): Promise<Result> {
    const [first, ...others] = jobs;
    return first ? this.track(first, () => this.trackAll(others, call)) : call();
  }

  /** Lets a wait for handlers look again, because something happened. */
  active(): void {
    this.waiters.forEach((wake) => wake());
    this.waiters.clear();
  }

  /** Returns the jobs whose handlers run. */
  get jobs(): Job[] {
    return [...this.running].map(({ job }) => job);
  }

  /**
   * Waits until no handler runs, or every running handler waits for the clock.
   *
   * @param patienceMs how long a handler may do nothing visible here before it counts as waiting, in real ms
   */
  async settle(patienceMs: number): Promise<void> {
    for (;;) {
      await turn();
      const awaited = [...this.running].filter(({ waits }) => !waits);
      if (awaited.length === 0) {
        return;
      }
      const change = new Promise<void>((resolve) => this.waiters.add(resolve));
      if (!(await inRealTime(patienceMs, change))) {
        awaited.forEach((each) => (each.waits = true));
      }
    }
  }

  /** Gives every handler time again, also a handler that seemed to wait for the clock. */
  attend(): void {
    this.running.forEach((each) => (each.waits = false));
  }
}
