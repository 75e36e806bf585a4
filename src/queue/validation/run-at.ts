import { z } from 'zod';
import { InvalidOptionError } from '../errors/errors.js';
import { YEAR_MS } from '../runtime/bounds.js';
import { show } from '../errors/show.js';

const EXPECTED = 'a valid Date or epoch ms, at most a year ahead';

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
  return at - Date.now() <= YEAR_MS;
}
