import { z } from 'zod';
import { duration, wholeNumber } from '../validation/numbers.js';
import type { RateLimit } from './limits.js';

/** The options of a pause, of a queue or of one of its groups. */
export interface PauseOptions {
  /** The name, at most 200 characters. */
  by?: string | undefined;
  /** Why: at most 500 characters. */
  reason?: string | undefined;
  /** The time until the pause ends by itself, in ms, by the clock of Redis. @default none: until somebody ends it */
  forMs?: number | undefined;
}

const text = (most: number) =>
  z
    .string({ error: 'expected text' })
    .min(1, 'expected text that is not empty')
    .max(most, `expected at most ${most} characters`)
    .refine((value) => !/\p{Surrogate}/u.test(value), 'expected well-formed text')
    .optional();

export const pauseOptions = z.strictObject(
  { by: text(200), reason: text(500), forMs: duration(1).optional() },
  { error: 'expected an object with by, reason, forMs' },
);

/** How the jobs of a resumed queue start. Set at most one of the two. Each replaces the rate limit of the queue. */
export interface ResumeOptions {
  /** The number of jobs that start at once. Then one starts a day, until `limits.clear()`. @default all */
  first?: number | undefined;
  /** The most jobs that start in a second, until `limits.clear()`. @default no limit of its own */
  perSecond?: number | undefined;
}

const DAY_MS = 86_400_000;

/** The largest burst that a rate of one start a day can have, rounded down; see lua/lib/limits/rate.lua. */
const BURST_PER_START = 40_000;

/** Returns the rate limit of a resume; nothing if all jobs start. */
export function rateOfResume({ first, perSecond }: ResumeOptions): RateLimit | undefined {
  if (first !== undefined) {
    // A larger burst needs more starts a day.
    return { limit: Math.ceil(first / BURST_PER_START), periodMs: DAY_MS, burst: first };
  }
  return perSecond === undefined ? undefined : { limit: perSecond, periodMs: 1_000, burst: 1 };
}

/** Checks how the jobs of a resumed queue start. */
export const resumeOptions = z
  .strictObject(
    { first: wholeNumber(1, 1_000_000).optional(), perSecond: wholeNumber(1, 1_000_000).optional() },
    { error: 'expected an object with first or perSecond' },
  )
  .refine(({ first, perSecond }) => first === undefined || perSecond === undefined, {
    error: 'expected first or perSecond, not both',
  });
