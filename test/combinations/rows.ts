// The rows of the table "what happens to a job with an option": how each job is enqueued.
import { z } from 'zod';
import { defineJob, type JobDefinition } from '../../src/queue/define-job.js';
import type { EnqueueOptions } from '../../src/queue/new-job.js';
import type { HandlerOptions } from '../../src/worker/handler.js';

export const HOUR = 3_600_000;

export interface Row {
  options: EnqueueOptions;
  /** Enqueued by a definition. */
  typed?: boolean;
  /** Enqueued by a schedule without overlap. */
  scheduled?: boolean;
  /** What its handler asks for. */
  handler?: HandlerOptions;
}

export const ROWS: Record<string, Row> = {
  'a plain job': { options: {} },
  '`priority`': { options: { priority: 5 } },
  '`delayMs`, `runAt`': { options: { delayMs: HOUR } },
  '`expiresInMs`': { options: { expiresInMs: HOUR } },
  '`maxAttempts`': { options: { maxAttempts: 5 } },
  '`maxCrashes`': { options: { maxCrashes: 5 } },
  '`backoff`': { options: { backoff: 2 * HOUR } },
  '`timeoutMs`': { options: { timeoutMs: HOUR } },
  '`keepResult: false`': { options: { keepResult: false } },
  '`resultTtlMs`': { options: { resultTtlMs: HOUR } },
  '`resultTtlMs` of its handler': { options: {}, handler: { resultTtlMs: HOUR } },
  '`completedHistory: 0` of its handler': { options: {}, handler: { completedHistory: 0 } },
  "`unique` for `'pending'`": { options: { unique: { key: 'k', for: 'pending' } } },
  "`unique` for `'unfinished'`": { options: { unique: { key: 'k', for: 'unfinished' } } },
  '`unique` for `{ ms }`': { options: { unique: { key: 'k', for: { ms: HOUR } } } },
  '`durability`': { options: { durability: 'replica' } },
  'a definition': { options: {}, typed: true },
  'a schedule without `overlap`': { options: {}, scheduled: true },
};

/** The definition of the typed row, for the jobs of a name. */
export function definitionOf(name: string): JobDefinition {
  return defineJob(name, { payload: z.string(), result: z.number() });
}
