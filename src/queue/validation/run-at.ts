import { z } from 'zod';
import { InvalidOptionError } from '../errors/errors.js';
import { YEAR_MS } from '../runtime/bounds.js';
import { show } from '../errors/show.js';

const EXPECTED = 'a valid Date or epoch ms (not seconds), at most a year ahead';

/**
 * A time of start. This process's clock checks that it is not too far ahead. The server's clock decides when the job
 * starts.
 */
export const runAtSchema = z.custom<Date | number>(isRunAt, { error: `expected ${EXPECTED}` });

/** @throws InvalidOptionError */
export function checkRunAt(subject: string, runAt: unknown): asserts runAt is Date | number {
  if (!isRunAt(runAt)) {
    throw new InvalidOptionError(subject, EXPECTED, show(runAt));
  }
}

function isRunAt(value: unknown): boolean {
  const at = value instanceof Date || typeof value === 'number' ? new Date(value).getTime() : Number.NaN;
  return at - Date.now() <= YEAR_MS && !isInSeconds(at);
}

/** The epoch seconds of 2001 to 2286. As ms they are in January to April of 1970, when no job was to start. */
const SECONDS = [1e9, 1e10] as const;

/**
 * Returns whether an instant is probably in epoch seconds. A job of such a start would run at once. While a test lets the
 * clock begin in 1970, these instants are times of then.
 */
export function isInSeconds(at: number): boolean {
  return at >= SECONDS[0] && at < SECONDS[1] && Date.now() >= SECONDS[1];
}
