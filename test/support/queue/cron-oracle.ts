// The ticks of cron expressions by a look at every minute of a zone's wall clock, without the library's parser.
import { nextTick } from '#queue/schedules/recurrence.js';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

/** Expressions of fixed times, then such that tick as time passes. They meet every change at midnight and by night. */
export const EXPRESSIONS = [
  '30 2 * * *',
  '0 0 * * *',
  '45 23 * * *',
  '45 23 * * 6',
  '15 0 * * 0',
  '30 0,1,2,3 * * *',
  '0,10,59 22-23 * * *',
  '0 0,23 * * 0,6',
  '30 2 1 * 0',
  '5 1-2 25-31 3,10 *',
  '30 23 28-31 * 6',
  '20 4 * * 1-5',
  '*/30 * * * *',
  '0 * * * *',
  '*/7 0-3 * * *',
  '*/20 22-23 * * 6',
  '*/15 0 * * 0',
  '10 */2 * * *',
  '5-45/20 1,2 * * *',
  '50 0-23/1 1-15 * 0',
];

/** A minute of a zone: its instant and the epoch ms that its clock face would have in UTC. */
export interface WallMinute {
  at: number;
  wall: number;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function wallOf(timeZone: string, at: number): number {
  let format = formats.get(timeZone);
  if (!format) {
    format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' });
    formats.set(timeZone, format);
  }
  return Date.parse(`${format.format(at).replace(' ', 'T')}:00Z`);
}

export function minutesOf(timeZone: string, from: number, to: number): WallMinute[] {
  return Array.from({ length: (to - from) / MINUTE }, (_, i) => from + i * MINUTE).map((at) => ({
    at,
    wall: wallOf(timeZone, at),
  }));
}

/** Returns the hours in which the zone's clock is changed, by their first instant. */
export function changesOf(timeZone: string, from: number, to: number): number[] {
  const offset = (at: number) => wallOf(timeZone, at) - at;
  const found: number[] = [];
  const search = (low: number, high: number): void => {
    if (offset(low) === offset(high)) return;
    if (high - low <= HOUR) {
      found.push(low);
      return;
    }
    const middle = low + Math.floor((high - low) / 2 / HOUR) * HOUR;
    search(low, middle);
    search(middle, high);
  };
  const slice = 7 * 24 * HOUR;
  for (let at = from; at < to; at += slice) search(at, at + slice);
  return found;
}

/** Returns the ticks among these minutes, as docs/recurring-jobs.md promises them. */
export function expectedTicks(cron: string, minutes: readonly WallMinute[]): number[] {
  const matches = matcherOf(cron);
  if (/[*/]/.test(cron.split(' ', 2).join(' '))) {
    return minutes.filter(({ wall }) => matches(wall)).map(({ at }) => at);
  }
  let latest = minutes[0]!.wall - MINUTE;
  return minutes.flatMap(({ at, wall }) => {
    let ticks = false;
    for (; latest < wall; latest += MINUTE) ticks ||= matches(latest + MINUTE);
    return ticks ? [at] : [];
  });
}

/** Returns the ticks of the library within these minutes. */
export function foundTicks(cron: string, timeZone: string, minutes: readonly WallMinute[]): number[] {
  const [from, to] = [minutes[0]!.at, minutes.at(-1)!.at];
  const found: number[] = [];
  for (let at = nextTick({ cron, timeZone }, from - 1); at <= to; at = nextTick({ cron, timeZone }, at)) {
    found.push(at);
  }
  return found;
}

function matcherOf(cron: string): (wall: number) => boolean {
  const fields = cron.split(' ');
  const [minute, hour, day, month, weekday] = [59, 23, 31, 12, 6].map((max, i) =>
    fieldMatcher(fields[i]!, max),
  ) as [FieldMatcher, FieldMatcher, FieldMatcher, FieldMatcher, FieldMatcher];
  const either = fields[2] !== '*' && fields[4] !== '*';
  return (wall) => {
    const date = new Date(wall);
    const [isDay, isWeekday] = [day(date.getUTCDate()), weekday(date.getUTCDay())];
    return (
      minute(date.getUTCMinutes()) &&
      hour(date.getUTCHours()) &&
      month(date.getUTCMonth() + 1) &&
      (either ? isDay || isWeekday : isDay && isWeekday)
    );
  };
}

type FieldMatcher = (value: number) => boolean;

function fieldMatcher(field: string, max: number): FieldMatcher {
  const values = new Set<number>();
  for (const part of field.split(',')) {
    const [range, step = '1'] = part.split('/') as [string, string?];
    const [first, last = first] = range === '*' ? ['0', String(max)] : (range.split('-') as [string, string?]);
    for (let value = Number(first); value <= Number(last); value += Number(step)) values.add(value);
  }
  return (value) => values.has(value);
}
