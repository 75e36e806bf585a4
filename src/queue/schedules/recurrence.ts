import { createHash } from 'node:crypto';
import { Cron } from 'croner';
import { z } from 'zod';
import { InvalidOptionError } from '../errors/errors.js';
import { oneLine, show } from '../errors/show.js';
import type { Recurrence, RecurrenceBounds } from '../model/schedule.js';
import { keptIn } from '../runtime/collections.js';
import { duration, wholeNumber } from '../validation/numbers.js';
import { isInSeconds } from '../validation/run-at.js';
import { checkOptions } from '../validation/validate-options.js';

const INSTANT = 'a valid Date or epoch ms (not seconds) before the year 10000';
const LATEST = Date.UTC(10_000, 0);

const instantOption = z.custom<Date | number>(
  (value) => (value instanceof Date || typeof value === 'number') && isInstant(new Date(value).getTime()),
  { error: `expected ${INSTANT}` },
);

/** The fields of RecurrenceBounds. */
const boundsFields = {
  startAt: instantOption.optional(),
  endAt: instantOption.optional(),
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

const MOST_CRONS = 1_000;
const knownCrons = new Map<string, Cron>();

/**
 * Returns the first tick of a cron expression after an instant, in epoch ms; undefined if it never fires again. The
 * expression is held against the zone's wall clock, never against instants that a change of that clock has moved.
 *
 * @throws Error for an invalid expression or an unknown time zone
 */
function nextCronTime(cron: string, timeZone: string, after: number): number | undefined {
  const [times, zone] = [parseCron(cron), new ZoneClock(timeZone)];
  return isFixed(cron) ? nextFixedTime(times, zone, after) : nextPassingTime(times, zone, after);
}

/** Returns the next of the times that tick once a day, as Vixie's cron does it. */
function nextFixedTime(times: Cron, zone: ZoneClock, after: number): number | undefined {
  for (let wall = zone.wallAt(after); ;) {
    const next = nextWallTime(times, wall);
    if (next === undefined) {
      return undefined;
    }
    const instant = zone.instantsOf(next)[0] ?? zone.endOfGap(next);
    if (instant > after) {
      return instant;
    }
    wall = next;
  }
}

/** Returns the next time at which the clock shows a time of the expression, also for the second time. */
function nextPassingTime(times: Cron, zone: ZoneClock, after: number): number | undefined {
  const repeat = zone.repeatAfter(after);
  const next = nextShown(times, zone, zone.wallAt(after), after);
  if (repeat === undefined || (next !== undefined && next < repeat)) {
    return next;
  }
  return nextShown(times, zone, zone.wallAt(repeat) - 1, repeat - 1);
}

/** Returns the first instant after `after` that shows a time of the expression later than `wall`. */
function nextShown(times: Cron, zone: ZoneClock, wall: number, after: number): number | undefined {
  for (let next = nextWallTime(times, wall); next !== undefined;) {
    const instant = zone.instantsOf(next).find((each) => each > after);
    if (instant !== undefined) {
      return instant;
    }
    next = nextWallTime(times, Math.max(next, zone.wallAt(zone.endOfGap(next)) - 1));
  }
  return undefined;
}

function nextWallTime(times: Cron, wall: number): number | undefined {
  return times.nextRun(new Date(wall))?.getTime();
}

/** Returns whether second, minute and hour have no wildcard and no step. */
function isFixed(cron: string): boolean {
  const fields = cron.trim().split(/\s+/);
  return fields.length === 1
    ? fields[0]!.toLowerCase() !== '@hourly'
    : fields.slice(0, -3).every((field) => !/[*?/]/.test(field));
}

/** Returns a parsed expression; few are in use, and each is asked for again and again. */
function parseCron(cron: string): Cron {
  const make = () => {
    // The library would take a date for an expression too.
    if (!/^\s*(@\w+|\S+(\s+\S+){4,5})\s*$/.test(cron)) {
      throw new Error('five or six fields, or one of @yearly, @monthly, @weekly, @daily, @hourly');
    }
    return new Cron(cron, { utcOffset: 0, paused: true, mode: '5-or-6-parts' });
  };
  return keptIn(knownCrons, cron, make, MOST_CRONS);
}

/** More than the clock of any zone was ever changed at once. A change of the date line is 24 hours. */
const LARGEST_CHANGE_MS = 26 * 3_600_000;

const MOST_ZONES = 1_000;
const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * The wall clock of a time zone. A wall time is the epoch ms that the same clock face would have in UTC.
 *
 * @throws RangeError if this process does not know the time zone
 */
class ZoneClock {
  private readonly format: Intl.DateTimeFormat;

  constructor(timeZone: string) {
    this.format = formatOf(timeZone);
  }

  /** Returns the wall time at an instant. */
  wallAt(instant: number): number {
    return instant + this.offsetAt(instant);
  }

  /** Returns the instants at which the clock shows a wall time: none in a gap, two in a repeated hour. */
  instantsOf(wall: number): number[] {
    return this.offsetsAround(wall)
      .map((offset) => wall - offset)
      .filter((instant) => this.wallAt(instant) === wall);
  }

  /** Returns the first instant after the gap in which a wall time lies. */
  endOfGap(wall: number): number {
    const [larger, smaller] = this.offsetsAround(wall) as [number, number];
    return this.changeIn(wall - larger, wall - smaller);
  }

  /** Returns when the clock is set back, if that is near enough to repeat the present hour. */
  repeatAfter(instant: number): number | undefined {
    const end = instant + LARGEST_CHANGE_MS;
    return this.offsetAt(end) < this.offsetAt(instant) ? this.changeIn(instant, end) : undefined;
  }

  /** Returns the offsets in force around a wall time, the larger first. There is one if no change is near. */
  private offsetsAround(wall: number): number[] {
    const offsets = [this.offsetAt(wall - LARGEST_CHANGE_MS), this.offsetAt(wall + LARGEST_CHANGE_MS)];
    return [...new Set(offsets)].toSorted((a, b) => b - a);
  }

  /** Returns the first second after `from` that has the offset of `to`. */
  private changeIn(from: number, to: number): number {
    const after = this.offsetAt(to);
    let [low, high] = [Math.floor(from / 1_000), Math.ceil(to / 1_000)];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.offsetAt(middle * 1_000) === after) {
        high = middle;
      } else {
        low = middle;
      }
    }
    return high * 1_000;
  }

  private offsetAt(instant: number): number {
    const second = Math.floor(instant / 1_000) * 1_000;
    const [month, day, year, hour, minute, s] = this.format.format(second).match(/\d+/g)!.map(Number) as [
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    return Date.UTC(year, month - 1, day, hour, minute, s) - second;
  }
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const numeric = 'numeric';
  const parts = {
    year: numeric,
    month: numeric,
    day: numeric,
    hour: numeric,
    minute: numeric,
    second: numeric,
  } as const;
  const make = () => new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', ...parts });
  return keptIn(formats, timeZone, make, MOST_ZONES);
}

/**
 * Returns the next due time of a schedule after an instant, in epoch ms. It obeys the schedule's bounds and jitter.
 * Returns Infinity if no tick is left. It is the same in every process.
 *
 * @param schedule its queue and id, which determine the delay
 * @throws Error if this process does not know the time zone
 */
export function nextDue(recurrence: Recurrence, afterMs: number, schedule: { queue: string; id: string }): number {
  const { jitterMs = 0 } = recurrence;
  const [first, last] = [Number(recurrence.startAt ?? 0), Number(recurrence.endAt ?? Infinity)];
  let tick = nextTick(recurrence, Math.max(afterMs - jitterMs, first - 1));
  while (tick <= last) {
    const due = Math.min(tick + delayOf(tick, jitterMs, schedule), last);
    if (due > afterMs) {
      return due;
    }
    tick = nextTick(recurrence, tick);
  }
  return Infinity;
}

function delayOf(tick: number, jitterMs: number, { queue, id }: { queue: string; id: string }): number {
  if (jitterMs === 0) {
    return 0;
  }
  const drawn = createHash('sha1').update(`${queue} ${id} ${tick}`).digest().readUIntBE(0, 6);
  return drawn % (jitterMs + 1);
}
