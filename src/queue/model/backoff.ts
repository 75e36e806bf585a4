import { z } from 'zod';
import { InvalidOptionError } from '../errors/errors.js';
import { YEAR_MS } from '../runtime/bounds.js';
import { show } from '../errors/show.js';

/** A delay that can be stored with a job. */
export type StoredBackoff =
  | number
  | {
      /** `fixed`: always `delayMs`. `exponential`: `delayMs`, then twice that, and so on. */
      type: 'fixed' | 'exponential';
      /** The first delay, in ms. */
      delayMs: number;
      /** The longest delay, in ms. @default an hour, or `delayMs` if that is longer */
      maxDelayMs?: number | undefined;
      /**
       * The random part of the delay, from 0 to 1, so that jobs that failed together do not retry together. @default
       * 0.2 for exponential, 0 for fixed
       */
      jitter?: number | undefined;
    };

/**
 * The delay before a retry: a number of ms, or a rule. For handlers and queues also a function of the attempt (from 1),
 * the error and the job. It returns 0 ms to a year.
 */
export type Backoff = StoredBackoff | ((attempt: number, error: unknown, job: BackoffJob) => number);

/** The job that failed, for a function that decides its delay. */
export interface BackoffJob {
  /** The id of the job. */
  readonly id: string;
  /** The name of the job. */
  readonly name: string;
  /** The queue of the job. */
  readonly queue: string;
  /** The enqueued payload. */
  readonly payload: unknown;
  /** The job's attempts in total. */
  readonly maxAttempts: number;
}

const milliseconds = z
  .number({ error: 'expected a number of ms' })
  .min(0, 'expected 0 ms or more')
  .max(YEAR_MS, 'expected at most a year in ms');

export const storedBackoffSchema = z.union(
  [
    milliseconds,
    z
      .strictObject({
        type: z.enum(['fixed', 'exponential'], { error: "expected 'fixed' or 'exponential'" }),
        delayMs: milliseconds,
        maxDelayMs: milliseconds.optional(),
        jitter: z
          .number({ error: 'expected a number from 0 to 1' })
          .min(0, 'expected a number from 0 to 1')
          .max(1, 'expected a number from 0 to 1')
          .optional(),
      })
      .refine(({ delayMs, maxDelayMs = delayMs }) => maxDelayMs >= delayMs, {
        error: 'expected delayMs or more',
        path: ['maxDelayMs'],
      }),
  ],
  { error: 'expected ms or { type, delayMs, maxDelayMs?, jitter? }' },
);

export const backoffSchema = z.union(
  [
    storedBackoffSchema,
    z.custom<(attempt: number, error: unknown, job: BackoffJob) => number>((value) => typeof value === 'function'),
  ],
  { error: 'expected ms, { type, delayMs, maxDelayMs?, jitter? } or a function' },
);

/**
 * Returns the delay before the next attempt, in whole ms.
 *
 * @param attempt the attempt that just failed, from 1
 * @param random a number from 0 to 1, which the jitter is drawn by
 * @param job the job that failed
 */
export function backoffDelay(
  backoff: Backoff | undefined,
  attempt: number,
  error: unknown,
  random: number,
  job: BackoffJob,
): number {
  if (backoff === undefined) {
    return 0;
  }
  if (typeof backoff === 'number') {
    return Math.round(backoff);
  }
  if (typeof backoff === 'function') {
    const delay = backoff(attempt, error, job);
    if (!(delay >= 0 && delay <= YEAR_MS)) {
      throw new InvalidOptionError('backoff function', 'a number of ms from 0 to a year', show(delay));
    }
    return Math.round(delay);
  }
  const exponential = backoff.type === 'exponential';
  const { delayMs, maxDelayMs = Math.max(3_600_000, backoff.delayMs), jitter = exponential ? 0.2 : 0 } = backoff;
  const delay = Math.min(maxDelayMs, exponential ? delayMs * 2 ** (attempt - 1) : delayMs);
  return Math.round(delay * (1 - jitter * random));
}

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

/** The retries of a job that a client of the Redis pattern wrote, or that is claimed by hand. */
const PATTERN_RETRIES = { maxAttempts: 3, backoff: 0 } as const satisfies Retries;

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
