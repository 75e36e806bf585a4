// The two versions of the app that the simulated fleet runs. A deploy replaces a worker of one by a worker of the
// other, in both directions. They differ in options and handlers, not in the library. Only Redis runs two versions of
// the scripts: see "earlier-version" in tools/chaos.
import type { QueueOptions } from '#queue/model/queue-options.js';
import type { DeclaredSchedule } from '#worker/handlers/handler.js';

const YEAR = 365 * 24 * 3_600_000;

/** A job that only handlers of the newer version know. */
export const NEW_NAME = 'added-later';

/** A job that workers of the newer version run several at a time. */
export const BULK_NAME = 'in-bulk';
export const BULK_SIZE = 4;

/** The payload of a job whose handler fails for good. */
export const FAILING = 'fails';

/** The attempts of a schedule's job. */
export const TICK_ATTEMPTS = 3;

/** Schedules that all versions declare alike. None of their ticks is left out. */
export const SCHEDULES = { 'each-second': { everyMs: 1_000 } } as const;

export type ScheduleId = keyof typeof SCHEDULES;

/** Returns the schedules of a version. The versions disagree on the interval of the last one. */
export function declaredSchedules({ tickMs }: Release): Record<string, DeclaredSchedule> {
  const options = { onMissed: 'once', maxAttempts: TICK_ATTEMPTS } as const;
  return {
    'each-second': { recurrence: SCHEDULES['each-second'], options },
    'one-at-a-time': { recurrence: { everyMs: 700 }, options: { ...options, overlap: false } },
    'by-version': { recurrence: { everyMs: tickMs }, options },
  };
}

/** Short times, so that much happens, and unlimited histories, so that all can be checked at the end. */
export const OPTIONS: QueueOptions & { maxAttempts: number; maxCrashes: number } = {
  visibilityMs: 3_000,
  maxAttempts: 4,
  maxCrashes: 3,
  backoff: { type: 'exponential', delayMs: 500, maxDelayMs: 4_000 },
  completedHistory: 1_000_000,
  cancelledHistory: 1_000_000,
  failedHistory: 1_000_000,
  deadLetterCap: 1_000_000,
  resultTtlMs: YEAR,
  cancelledTtlMs: YEAR,
};

/** A queue whose groups run one job at a time. */
const LIMITS: QueueOptions = {
  maxRunning: 3,
  rateLimit: { limit: 20, periodMs: 1_000, burst: 5 },
  groups: { maxRunning: 1 },
};

/** Groups without limits beside one that has its own. */
export const MIXED_GROUPS = ['x', 'y', 'z', 'narrow'] as const;
export const MIXED_LIMITS: QueueOptions = { groups: { overrides: { narrow: { maxRunning: 2 } } } };

/** The scripts of a queue with this run inside the audit frame. */
export const AUDITED: QueueOptions = { auditTrail: {}, outcomes: {} };

export interface Release {
  options: typeof OPTIONS;
  limits: QueueOptions;
  /** Jobs at once of a worker, relative to the older version. */
  concurrencyFactor: number;
  /** The names that its workers have handlers for, beside that of the queue. */
  names: readonly string[];
  /** True if its workers run several jobs of BULK_NAME at a time. */
  hasBulk: boolean;
  /** The interval of one of its schedules, in ms. */
  tickMs: number;
  /** The share of attempts that fail. */
  failing: number;
}

export const OLDER: Release = {
  options: OPTIONS,
  limits: LIMITS,
  concurrencyFactor: 1,
  names: [],
  hasBulk: false,
  tickMs: 900,
  failing: 0.15,
};

export const NEWER: Release = {
  options: { ...OPTIONS, visibilityMs: 5_000, backoff: { type: 'fixed', delayMs: 200 }, maxAttempts: 6 },
  limits: LIMITS,
  concurrencyFactor: 2,
  names: [NEW_NAME],
  hasBulk: true,
  tickMs: 1_300,
  failing: 0.1,
};

/** The most attempts of a job without its own option: those of the version that claims it first. */
export const MOST_ATTEMPTS = Math.max(OLDER.options.maxAttempts, NEWER.options.maxAttempts);

/** The longest wait of a job that is replaced again and again. */
export const LONGEST_WAIT_MS = 1_500;
