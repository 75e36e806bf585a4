import { z } from 'zod';
import { duration } from '../validation/numbers.js';

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

/** Returns the name and the reason of a pause of a queue or a group, as its stats have it. */
export function pauseNote({ by, reason }: PauseOptions = {}): { pausedBy?: string; pauseReason?: string } {
  return { ...(by !== undefined && { pausedBy: by }), ...(reason !== undefined && { pauseReason: reason }) };
}
