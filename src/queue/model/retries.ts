import type { Backoff } from './backoff.js';

/** How often a job is tried in all, and how long it waits before each further attempt. */
interface Retries {
  maxAttempts: number;
  backoff: Backoff;
}

/** The retries of a worker's jobs, where neither the job nor its handler or queue sets them. They span 8.5 minutes. */
export const DEFAULT_RETRIES = {
  maxAttempts: 10,
  backoff: { type: 'exponential', delayMs: 1_000, jitter: 0.2 },
} as const satisfies Retries;

/** The retries of the Redis pattern: of a job that its client wrote, and of a job that is claimed by hand. */
export const PATTERN_RETRIES = { maxAttempts: 3, backoff: 0 } as const satisfies Retries;

/** The retries of the pattern that no option of a queue or handler replaces. */
export type PatternRetries = { maxAttempts?: number; backoff?: number };

/** The key of these retries among the resolved options. A symbol, so that resolved options are options too. */
export const OF_PATTERN: unique symbol = Symbol('retries of the Redis pattern');

/** Returns the retries of the pattern that the options leave out. */
export function patternRetries({ maxAttempts, backoff }: Partial<Retries>): PatternRetries {
  return {
    ...(maxAttempts === undefined && { maxAttempts: PATTERN_RETRIES.maxAttempts }),
    ...(backoff === undefined && { backoff: PATTERN_RETRIES.backoff }),
  };
}
