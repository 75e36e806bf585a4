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

/** Returns a whole number from `min` to `max`, or a range of such numbers. A range has a default, and the most that may be said. */
export function numberOrRange(min: number, max: number) {
  const number = wholeNumber(min, max);
  const range = z
    .strictObject({ default: number.optional(), most: number })
    .refine(({ default: usual = 1, most }) => usual <= most, 'expected a default of at most `most`');
  return z.union([number, range], {
    error: `expected a whole number from ${min} to ${max}, or { default?, most }`,
  });
}

/** The ms of each unit that people write behind a number. */
const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** A number in text, with or without a unit of time. */
const NUMBER_IN_TEXT = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d)?\s*$/i;

/**
 * Returns how to write the number that was given as text, such as `'5s'`, or where a NaN comes from. Empty for other
 * values, and for a number that would be refused too.
 *
 * @param expected the expected value in words
 */
export function numberHint(expected: string, found: unknown): string {
  if (!/^a (whole )?number/.test(expected)) {
    return '';
  }
  if (Number.isNaN(found)) {
    return 'Number() of text, or of a missing variable, is NaN.';
  }
  const [, digits, unit] = (typeof found === 'string' && NUMBER_IN_TEXT.exec(found)) || [];
  const isMs = / ms\b/.test(expected);
  const number = unit === undefined ? Number(digits) : Math.round(Number(digits) * UNITS[unit.toLowerCase()]!);
  if (digits === undefined || (unit !== undefined && !isMs) || !isAsExpected(expected, number)) {
    return '';
  }
  return unit === undefined
    ? `Write ${number} without quotes, or convert the text with Number().`
    : `Write ${number}.`;
}

/** Returns whether a number is what an error expects, by its words. */
function isAsExpected(expected: string, number: number): boolean {
  const [, min, max] = / from (\d+) to (\d+)/.exec(expected) ?? [];
  const isInside = min === undefined || (number >= Number(min) && number <= Number(max));
  return isInside && (Number.isInteger(number) || !expected.startsWith('a whole number'));
}

/** True or false, and nothing that is like them. */
export const flag = z.boolean({ error: 'expected true or false' });
