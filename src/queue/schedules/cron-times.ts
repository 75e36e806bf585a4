import { Cron } from 'croner';
import { ZoneClock } from './zone-clock.js';
import { keptIn } from '../runtime/kept.js';

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
