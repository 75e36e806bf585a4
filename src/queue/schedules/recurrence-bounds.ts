import { z } from 'zod';
import { InvalidOptionError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import { duration, wholeNumber } from '../validation/numbers.js';
import { isInSeconds } from '../validation/run-at.js';
import type { RecurrenceBounds } from '../model/schedule.js';

const INSTANT = 'a valid Date or epoch ms (not seconds) before the year 10000';
const LATEST = Date.UTC(10_000, 0);

const instant = z.custom<Date | number>(
  (value) => (value instanceof Date || typeof value === 'number') && isInstant(new Date(value).getTime()),
  { error: `expected ${INSTANT}` },
);

/** The fields of RecurrenceBounds. */
export const boundsFields = {
  startAt: instant.optional(),
  endAt: instant.optional(),
  limit: wholeNumber(1, 1_000_000_000).optional(),
  jitterMs: duration(0).optional(),
};

/**
 * Checks bounds against each other. Returns the set ones, with instants in epoch ms.
 *
 * @param shortestGapMs the shortest time between two ticks
 * @throws InvalidOptionError
 */
export function checkBounds(
  subject: string,
  { startAt, endAt, limit, jitterMs }: RecurrenceBounds,
  shortestGapMs: () => number,
): RecurrenceBounds {
  const [start, end] = [epochMs(startAt), epochMs(endAt)];
  if (start !== undefined && end !== undefined && end < start) {
    throw new InvalidOptionError(`${subject}.endAt`, 'an instant not before startAt', show(endAt));
  }
  if (jitterMs) {
    const gapMs = shortestGapMs();
    if (jitterMs > gapMs) {
      const expected = `at most the time between two ticks, ${gapMs} ms`;
      throw new InvalidOptionError(`${subject}.jitterMs`, expected, show(jitterMs));
    }
  }
  return {
    ...(start !== undefined && { startAt: start }),
    ...(end !== undefined && { endAt: end }),
    ...(limit !== undefined && { limit }),
    ...(jitterMs && { jitterMs }),
  };
}

function isInstant(ms: number): boolean {
  return ms >= 0 && ms < LATEST && !isInSeconds(ms);
}

function epochMs(instantOf: Date | number | undefined): number | undefined {
  return instantOf === undefined ? undefined : new Date(instantOf).getTime();
}
