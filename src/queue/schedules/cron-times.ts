import { Cron } from 'croner';
import { keptIn } from '../runtime/collections.js';

const MOST_KNOWN = 1_000;
const known = new Map<string, Cron>();

/**
 * Returns the first tick of a cron expression after an instant, in epoch ms; undefined if it never fires again. The
 * expression is held against the zone's wall clock, never against instants that a change of that clock has moved.
 *
 * @throws Error for an invalid expression or an unknown time zone
 */
export function nextCronTime(cron: string, timeZone: string, after: number): number | undefined {
  const [times, zone] = [parse(cron), new ZoneClock(timeZone)];
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
function parse(cron: string): Cron {
  const make = () => {
    // The library would take a date for an expression too.
    if (!/^\s*(@\w+|\S+(\s+\S+){4,5})\s*$/.test(cron)) {
      throw new Error('five or six fields, or one of @yearly, @monthly, @weekly, @daily, @hourly');
    }
    return new Cron(cron, { utcOffset: 0, paused: true, mode: '5-or-6-parts' });
  };
  return keptIn(known, cron, make, MOST_KNOWN);
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
