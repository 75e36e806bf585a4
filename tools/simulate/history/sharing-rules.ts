// A limit that two queues share: no more handlers run than it lets, over all processes that live.
import type { Fault } from './known.js';

/** The jobs of both queues that may run at once. */
export const MOST_SHARED = 5;
/** The name of the limit. */
export const SHARED_LIMIT = 'partner';
/** What a job may cost of its rate. */
export const MOST_COST = 3;
/** The values of the limit. */
export const SHARED_VALUES = { maxRunning: MOST_SHARED, rateLimit: { limit: 50, periodMs: 1_000, burst: 6 } };

export class SharingRules {
  /** The number of handlers that run in each process. */
  private readonly running = new Map<string, number>();

  constructor(private readonly fault: Fault) {}

  began(process: string): void {
    this.running.set(process, (this.running.get(process) ?? 0) + 1);
    const all = [...this.running.values()].reduce((sum, each) => sum + each, 0);
    if (all > MOST_SHARED) {
      this.fault(`sharing: ${all} handlers run in ${[...this.running.keys()].join(', ')}, and ${MOST_SHARED} may`);
    }
  }

  ended(process: string): void {
    const running = this.running.get(process);
    if (running !== undefined) {
      this.running.set(process, running - 1);
    }
  }

  /** Forgets the handlers of a process that was killed, or whose worker has stopped. */
  died(process: string): void {
    this.running.delete(process);
  }

  /** Checks the permits at the end, when no job runs. */
  left(permits: number): void {
    if (permits > 0) {
      this.fault(`sharing: ${permits} permits are left, and no job runs`);
    }
  }
}
