import { z } from 'zod';
import { InvalidOptionError } from '../errors/errors.js';
import { oneLine, show } from '../errors/show.js';
import type { Recurrence, RecurrenceBounds } from '../model/schedule.js';
import { duration, wholeNumber } from '../validation/numbers.js';
import { isInSeconds } from '../validation/run-at.js';
import { checkOptions } from '../validation/validate-options.js';
import { nextCronTime } from './cron-times.js';

const INSTANT = 'a valid Date or epoch ms (not seconds) before the year 10000';
const LATEST = Date.UTC(10_000, 0);

const instant = z.custom<Date | number>(
  (value) => (value instanceof Date || typeof value === 'number') && isInstant(new Date(value).getTime()),
  { error: `expected ${INSTANT}` },
);

/** The fields of RecurrenceBounds. */
const boundsFields = {
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
function checkBounds(
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

const SHORTEST_PERIOD_MS = 100;

/** The parser's reason quotes the expression. */
const LONGEST_REASON = 200;
const CRON_EXAMPLE = "a cron expression such as '0 3 * * *' (minute hour day month weekday; a second may lead)";

/** The start of the search for a first tick. Without a year, a pattern fires after any time or never. */
const SOME_TIME = Date.parse('2024-01-01T00:00:00Z');

const recurrenceSchema = z.strictObject(
  {
    cron: z.string({ error: `expected ${CRON_EXAMPLE}` }).optional(),
    timeZone: z.string({ error: "expected a time zone such as 'Europe/Berlin'" }).optional(),
    everyMs: duration(SHORTEST_PERIOD_MS).optional(),
    ...boundsFields,
  },
  { error: 'expected { cron, timeZone? } or { everyMs }, with startAt, endAt, limit or jitterMs' },
);

/**
 * Checks a recurrence, fills in the time zone, and turns instants into epoch ms.
 *
 * @throws InvalidOptionError, also for a cron expression that never fires
 */
export function checkRecurrence(subject: string, value: unknown): Recurrence {
  const { cron, timeZone, everyMs, ...given } = checkOptions(subject, recurrenceSchema, value);
  if ((cron === undefined) === (everyMs === undefined)) {
    throw new InvalidOptionError(subject, 'either cron or everyMs', cron === undefined ? 'neither' : 'both');
  }
  if (everyMs !== undefined) {
    if (timeZone !== undefined) {
      throw new InvalidOptionError(`${subject}.timeZone`, 'none beside everyMs', show(timeZone));
    }
    return { everyMs, ...checkBounds(subject, given, () => everyMs) };
  }
  const zone = timeZone ?? 'UTC';
  checkTimeZone(`${subject}.timeZone`, zone);
  checkCron(`${subject}.cron`, cron!, zone);
  const shortestGapMs = () => shortestGap({ cron: cron!, timeZone: zone });
  return { cron: cron!, timeZone: zone, ...checkBounds(subject, given, shortestGapMs) };
}

/** The number of ticks that determine the shortest time between two of them. */
const GAPS = 50;

function shortestGap(recurrence: Recurrence): number {
  let shortest = Infinity;
  for (let i = 0, tick = nextTick(recurrence, SOME_TIME); i < GAPS; i++) {
    const next = nextTick(recurrence, tick);
    shortest = Math.min(shortest, next - tick);
    tick = next;
  }
  return shortest;
}

/**
 * Returns the first tick after an instant, in epoch ms, without the bounds; see nextDue. The instant is an argument and
 * never comes from this process's clock.
 *
 * Changes of daylight-saving time are handled like Vixie's cron. Fixed times (no `*`, `?` or step in second, minute and
 * hour) tick once a day. A time that a clock change skips ticks at the first moment after the gap. A time that occurs
 * twice ticks the first time. All other expressions tick as time passes.
 *
 * @throws Error if this process does not know the time zone
 */
export function nextTick(recurrence: Recurrence, afterMs: number): number {
  if (recurrence.everyMs !== undefined) {
    return (Math.floor(afterMs / recurrence.everyMs) + 1) * recurrence.everyMs;
  }
  const next = nextCronTime(recurrence.cron, recurrence.timeZone ?? 'UTC', afterMs);
  if (next === undefined) {
    throw new Error(
      `the cron expression ${show(recurrence.cron)} has no time after ${new Date(afterMs).toISOString()}`,
    );
  }
  return next;
}

function checkTimeZone(subject: string, timeZone: string): void {
  try {
    nextCronTime('0 0 * * *', timeZone, SOME_TIME);
  } catch {
    throw new InvalidOptionError(subject, "a time zone such as 'Europe/Berlin'", show(timeZone));
  }
}

function checkCron(subject: string, cron: string, timeZone: string): void {
  let first: number | undefined;
  try {
    first = nextCronTime(cron, timeZone, SOME_TIME);
  } catch (error) {
    const reason = (error as Error).message.replace(/^Cron\w+: /, '');
    throw new InvalidOptionError(subject, CRON_EXAMPLE, show(cron), `Reason: ${oneLine(reason, LONGEST_REASON)}`);
  }
  if (first === undefined) {
    throw new InvalidOptionError(subject, 'a cron expression that fires', `${show(cron)}, which never does`);
  }
}
