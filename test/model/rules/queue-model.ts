// The state of a queue, without Redis. The files beside this one hold the rules, one family of verbs each. Together
// they specify the queue.
import type { JobStatus } from '#queue/model/job.js';
import type { ModelJob } from './job.js';
import type { ModelSchedule } from './schedules.js';

/** The options of the queue under test, small enough to meet every limit. */
export const LIMITS = {
  visibilityMs: 10 * 60_000,
  maxAttempts: 3,
  maxCrashes: 2,
  resultTtlMs: 40 * 60_000,
  cancelledTtlMs: 15 * 60_000,
  completedHistory: 3,
  failedHistory: 2,
  cancelledHistory: 3,
  deadLetterCap: 4,
};

/** The time a job is kept after its id left the history, in ms. */
export const EVICTED_TTL_MS = 10_000;

/** A handed-out claim, which settlements name, even long after its end. */
export interface Ticket {
  id: string;
  token: string;
  fence: number;
  backoffMs: number | undefined;
}

export class QueueModel {
  /** The server's time plus the time that the test let pass. */
  now = 0;
  /** The time that the test let pass, in ms. */
  passed = 0;

  readonly jobs = new Map<string, ModelJob>();
  /** The line of the jobs without a priority, next to be claimed first. */
  pending: string[] = [];
  /** Newest first. An id stays after its job was forgotten. */
  readonly histories: Record<'completed' | 'failed' | 'cancelled', string[]> = {
    completed: [],
    failed: [],
    cancelled: [],
  };
  /** Unique key → id of its owner; and until when a key is held for a time. */
  readonly owners = new Map<string, string>();
  readonly windows = new Map<string, number>();
  readonly schedules = new Map<string, ModelSchedule>();
  readonly totals: Record<string, number> = {};
  pausedAt: number | undefined;
  /** The counter behind fences and ranks. */
  sequence = 0;

  /** All claims and all ids ever used, for the steps to pick from. */
  readonly tickets: Ticket[] = [];
  readonly ids: string[] = [];

  count(total: string, by = 1): void {
    if (by > 0) {
      this.totals[total] = (this.totals[total] ?? 0) + by;
    }
  }

  add(job: ModelJob): ModelJob {
    this.jobs.set(job.id, job);
    if (!this.ids.includes(job.id)) {
      this.ids.push(job.id);
    }
    return job;
  }

  /** Returns the jobs of one state, in any order. */
  inState(status: JobStatus): ModelJob[] {
    return [...this.jobs.values()].filter((job) => job.status === status);
  }

  /** Sets the time, and forgets what has expired. */
  setNow(now: number): void {
    this.now = now;
    for (const job of this.jobs.values()) {
      if (job.forgottenAt !== undefined && job.forgottenAt <= now) {
        this.jobs.delete(job.id);
      }
    }
  }
}
