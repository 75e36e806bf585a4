import { z } from 'zod';
import { LONGEST_TIMER_MS, YEAR_MS } from '../runtime/bounds.js';

/** Returns a length of time in ms: a whole number from `min` to a year. */
export function duration(min: number) {
  return wholeNumber(min, YEAR_MS, ' ms');
}

/** Returns a duration that the process itself waits, in ms: a whole number from `min` to almost 25 days. */
export function timerDuration(min: number) {
  return wholeNumber(min, LONGEST_TIMER_MS, ' ms');
}

/** Returns a whole number from `min` to `max`; the error says so in these words. */
export function wholeNumber(min: number, max: number, unit = '') {
  return z.custom<number>(
    (value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max,
    {
      error: `expected a whole number from ${min} to ${max}${unit}`,
    },
  );
}
