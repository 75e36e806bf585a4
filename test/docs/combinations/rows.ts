// The rows of the table "what happens to a job with an option": how each job is enqueued.
import { z } from 'zod';
import { defineJob, type JobDefinition } from '#queue/enqueue/define-job.js';
import type { EnqueueOptions, UniqueOptions } from '#queue/enqueue/enqueue-options.js';
import type { GroupLimits, QueueLimits } from '#queue/model/limits.js';
import type { HandlerOptions } from '#worker/handlers/handler.js';

export const HOUR = 3_600_000;

/** The job that another one waits for. */
export const FIRST = 'first';

export interface Row {
  options: EnqueueOptions;
  /** Enqueued by a definition. */
  typed?: boolean;
  /** Enqueued by a schedule without overlap. */
  scheduled?: boolean;
  /** Claimed beyond the free slots, behind a job that runs. */
  ahead?: boolean;
  /** Its handler takes several jobs in one call. */
  bulk?: boolean;
  limits?: QueueLimits;
  groupLimits?: GroupLimits;
  handler?: HandlerOptions;
  /** A time limit beside its options, in ms. */
  limitMs?: number;
}

/** The column in which a time limit passes while the job runs. */
export const TIME_RUNS_OUT = 'its time runs out';

/** The column that needs a worker, since it is the worker that is paused. */
export const WORKER_PAUSED = 'a pause of the worker';

/** Passes soon. The handler continues until the test has put a peer behind the job. */
const SHORT = { timeoutMs: 50 };

/** Changes a row for its column: by an expiry, by a short limit, or beside a limit. */
export function rowIn(column: string, row: Row): Row {
  if (column !== TIME_RUNS_OUT) {
    return row;
  }
  const { options, handler } = row;
  if (options.timeoutMs) {
    return { ...row, options: { ...options, ...SHORT } };
  }
  return handler?.timeoutMs ? { ...row, handler: { ...handler, ...SHORT } } : { ...row, limitMs: SHORT.timeoutMs };
}

const ATTEMPTS = { maxAttempts: 5 };
const CRASHES = { maxCrashes: 5 };
const BACKOFF = { backoff: 2 * HOUR };
const FOR_A_TIME = { ms: HOUR };

export const ROWS: Record<string, Row> = {
  'a plain job': { options: {} },
  '`lifo`': { options: { lifo: true } },
  '`id`': { options: { id: 'own' } },
  '`priority`': { options: { priority: 5 } },
  '`group`': { options: { group: 'tenant' } },
  '`group` with `maxRunning: 1`, `onDeadHead: hold`': {
    options: { group: 'tenant' },
    groupLimits: { maxRunning: 1, onDeadHead: 'hold' },
  },
  'a queue with `maxRunning` and `rateLimit`': {
    options: {},
    limits: { maxRunning: 1, rateLimit: { limit: 1_000, periodMs: 1_000, burst: 100 } },
  },
  '`cost`, `limitCosts`, `slots`': { options: { cost: 3, limitCosts: { partner: 3 }, slots: 2 } },
  '`metadata`': { options: { metadata: { tenant: 'a' } } },
  '`after`': { options: { after: [FIRST] } },
  'a bulk handler': { options: {}, bulk: true },
  '`delayMs`': { options: { delayMs: HOUR } },
  '`runAt`': { options: { runAt: Date.now() + HOUR } },
  '`expiresInMs`': { options: { expiresInMs: 2 * HOUR } },
  '`maxAttempts: 5`': { options: ATTEMPTS },
  '`maxAttempts: 5`, its handler: 1': { options: ATTEMPTS, handler: { maxAttempts: 1 } },
  '`maxAttempts: 1` of its handler': { options: {}, handler: { maxAttempts: 1 } },
  '`maxCrashes: 5`': { options: CRASHES },
  '`maxCrashes: 5`, its handler: 1': { options: CRASHES, handler: { maxCrashes: 1 } },
  '`maxCrashes: 1` of its handler': { options: {}, handler: { maxCrashes: 1 } },
  '`backoff`': { options: BACKOFF },
  '`backoff`, its handler: 0': { options: BACKOFF, handler: { backoff: 0 } },
  '`backoff` of its handler': { options: {}, handler: { backoff: () => 2 * HOUR } },
  '`timeoutMs`': { options: { timeoutMs: HOUR } },
  '`timeoutMs`, its handler: less': { options: { timeoutMs: HOUR }, handler: { timeoutMs: 1 } },
  '`timeoutMs` of its handler': { options: {}, handler: { timeoutMs: HOUR } },
  '`keepResult: false`': { options: { keepResult: false } },
  '`keepResult: false` of its handler': { options: {}, handler: { keepResult: false } },
  '`keepResult: true`, its handler: `false`': { options: { keepResult: true }, handler: { keepResult: false } },
  '`resultTtlMs`': { options: { resultTtlMs: 48 * HOUR } },
  '`resultTtlMs` of its handler': { options: {}, handler: { resultTtlMs: 48 * HOUR } },
  '`resultTtlMs`, its handler: less': { options: { resultTtlMs: 48 * HOUR }, handler: { resultTtlMs: 1_000 } },
  'claimed ahead': { options: {}, ahead: true },
  '`expiresInMs`, claimed ahead': { options: { expiresInMs: 2 * HOUR }, ahead: true },
  "`unique` for `'pending'`": unique('pending'),
  "`unique` for `'pending'`, `'replace'`": unique('pending', 'replace'),
  "`unique` for `'unfinished'`": unique('unfinished'),
  "`unique` for `'unfinished'`, `'replace'`": unique('unfinished', 'replace'),
  '`unique` for `{ ms }`': unique(FOR_A_TIME),
  "`unique` for `{ ms }`, `'replace'`": unique(FOR_A_TIME, 'replace'),
  '`durability`': { options: { durability: 'replica' } },
  'a definition': { options: {}, typed: true },
  'a schedule without `overlap`': { options: {}, scheduled: true },
};

function unique(hold: UniqueOptions['for'], onConflict?: UniqueOptions['onConflict']): Row {
  return { options: { unique: { key: 'k', for: hold, onConflict } } };
}

/** Returns the definition of the typed row, for the jobs of a name. */
export function definitionOf(name: string): JobDefinition {
  return defineJob(name, { payload: z.string(), result: z.number() });
}
