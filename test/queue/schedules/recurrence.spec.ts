import { describe, expect, it, jest } from '@jest/globals';
import fc from '../../support/queue/properties.js';
import { InvalidOptionError } from '#queue/errors/errors.js';
import { checkRecurrence, nextTick } from '#queue/schedules/recurrence.js';
import { type Recurrence } from '#queue/model/schedule.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Days around changes of daylight-saving time: by an hour, by half an hour, at midnight, in both directions. */
const CHANGES: [zone: string, day: string][] = [
  ['Europe/Berlin', '2026-03-29'],
  ['Europe/Berlin', '2026-10-25'],
  ['America/New_York', '2026-03-08'],
  ['America/New_York', '2026-11-01'],
  ['Australia/Lord_Howe', '2026-04-05'],
  ['Australia/Lord_Howe', '2026-10-04'],
  ['America/Havana', '2026-03-08'],
  ['America/Santiago', '2026-09-06'],
  ['Africa/Casablanca', '2026-02-15'],
  ['Asia/Kathmandu', '2026-06-01'],
  ['UTC', '2026-03-29'],
];

function ticks(cron: string, timeZone: string, from: number, to: number): number[] {
  const found: number[] = [];
  for (let at = nextTick({ cron, timeZone }, from - 1); at < to; at = nextTick({ cron, timeZone }, at)) {
    found.push(at);
  }
  return found;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns the local day and minute of an instant. */
function wallClock(timeZone: string, at: number): { day: string; minutes: number } {
  let format = formats.get(timeZone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-CA', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
    });
    formats.set(timeZone, format);
  }
  const [day, time] = format.format(at).split(', ') as [string, string];
  const [hour, minute] = time.split(':').map(Number) as [number, number];
  return { day, minutes: hour * 60 + minute };
}

interface Minute {
  at: number;
  day: string;
  minutes: number;
}

function minutesOf(timeZone: string, from: number, to: number): Minute[] {
  return Array.from({ length: (to - from) / MINUTE }, (_, i) => {
    const at = from + i * MINUTE;
    return { at, ...wallClock(timeZone, at) };
  });
}

/**
 * Returns every minute whose clock time matches, only the first showing of each day. One in a gap comes after the gap.
 */
function fixedTimes(wall: Minute[], times: number[]): number[] {
  const found = new Set<number>();
  for (const day of new Set(wall.map((each) => each.day))) {
    for (const time of times) {
      const shown = wall.find((each) => each.day === day && each.minutes === time);
      const gap = wall.findIndex(
        ({ minutes }, i) =>
          wall[i]!.day === day &&
          minutes > time &&
          (i === 0
            ? false
            : wall[i - 1]!.day === day
              ? wall[i - 1]!.minutes < time
              : minutes > 0 && time < minutes),
      );
      const instant = shown?.at ?? wall[gap]?.at;
      if (instant !== undefined) found.add(instant);
    }
  }
  return [...found].toSorted((a, b) => a - b);
}

describe('the ticks of a cron expression', () => {
  it.each(CHANGES)('in %s around %s: as time passes, where it has a wildcard or a step', (timeZone, day) => {
    const from = Date.parse(`${day}T00:00:00Z`) - 15 * HOUR;
    const to = from + 32 * HOUR;
    const wall = minutesOf(timeZone, from, to);
    const minutePart = fc.constantFrom('*/5', '*/7', '*/15', '*/30', '*/4', '0', '10', '45', '5,35', '10-20');
    const hourPart = fc.constantFrom('*', '*/2', '*/3', '*', '0-5/1', '22-23');
    fc.assert(
      fc.property(minutePart, hourPart, (minute, hour) => {
        fc.pre(/[*/]/.test(minute + hour));
        const [inMinute, inHour] = [matcher(minute, 59), matcher(hour, 23)];
        const expected = wall
          .filter(({ minutes }) => inMinute(minutes % 60) && inHour(Math.floor(minutes / 60)))
          .map(({ at }) => at);
        expect(ticks(`${minute} ${hour} * * *`, timeZone, from, to)).toEqual(expected);
      }),
      { numRuns: 8 },
    );
  });

  it.each(CHANGES)('in %s around %s: at fixed times once a day, whatever the clock does', (timeZone, day) => {
    // Whole days of the zone, so that the brute force sees each from its beginning.
    const around = Date.parse(`${day}T12:00:00Z`);
    const all = minutesOf(timeZone, around - 72 * HOUR, around + 72 * HOUR);
    const wall = all.slice(
      all.findIndex((each, i) => i > 0 && each.day !== all[i - 1]!.day),
      all.findLastIndex((each, i) => i > 0 && each.day !== all[i - 1]!.day),
    );
    const [from, to] = [wall[0]!.at, wall.at(-1)!.at + MINUTE];
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 0, max: 59 }), { minLength: 1, maxLength: 3 }),
        fc.uniqueArray(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 3 }),
        (minutes, hours) => {
          const times = hours.flatMap((hour) => minutes.map((minute) => hour * 60 + minute));
          const cron = `${minutes.join(',')} ${hours.join(',')} * * *`;
          expect(ticks(cron, timeZone, from, to)).toEqual(fixedTimes(wall, times));
        },
      ),
      { numRuns: 20 },
    );
  });

  it('are the same whatever the clock and the zone of this process say', () => {
    const after = Date.parse('2026-03-28T12:00:00Z');
    const { TZ: zone = '' } = process.env;
    jest.useFakeTimers({ now: after + 400 * 24 * HOUR, doNotFake: ['nextTick', 'setImmediate', 'setTimeout'] });
    process.env.TZ = 'Asia/Tokyo';
    try {
      expect(nextTick({ cron: '30 4 * * *', timeZone: 'Europe/Berlin' }, after)).toBe(after + 14.5 * HOUR);
      expect(nextTick(checkRecurrence('s', { cron: '30 3 * * *' }), after)).toBe(after + 15.5 * HOUR);
      expect(nextTick({ everyMs: HOUR }, after + 1)).toBe(after + HOUR);
    } finally {
      process.env.TZ = zone;
      jest.useRealTimers();
    }
  });

  it('may have seconds', () => {
    const from = Date.parse('2026-01-01T00:00:07.500Z');
    expect(nextTick({ cron: '*/10 * * * * *' }, from)).toBe(from + 2_500);
  });
});

describe('the ticks of everyMs', () => {
  it('are whole multiples of it, strictly later than any time before', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 100, max: 31_536_000_000 }),
        fc.integer({ min: 0, max: 4e12 }),
        (everyMs, after) => {
          const next = nextTick({ everyMs }, after);
          expect(next % everyMs).toBe(0);
          expect(next).toBeGreaterThan(after);
          expect(next - after).toBeLessThanOrEqual(everyMs);
        },
      ),
    );
  });
});

describe('a recurrence is refused', () => {
  it.each<[unknown, string, RegExp]>([
    [{ everyMs: 0 }, 's.everyMs', /expected a whole number from 100 to 31536000000 ms, found 0/],
    [{ everyMs: 1.5 }, 's.everyMs', /found 1\.5/],
    [{ everyMs: '5' }, 's.everyMs', /found "5"/],
    [{}, 's', /expected either cron or everyMs, found neither/],
    [{ cron: '0 0 * * *', everyMs: 1_000 }, 's', /expected either cron or everyMs, found both/],
    [{ everyMs: 1_000, timeZone: 'UTC' }, 's.timeZone', /expected none beside everyMs/],
    [
      { cron: '0 0 30 2 *' },
      's.cron',
      /expected a cron expression that fires, found "0 0 30 2 \*", which never does/,
    ],
    [{ cron: '61 * * * *' }, 's.cron', /found "61 \* \* \* \*"\. Reason: Invalid value for minute: 61/],
    [{ cron: '* * *' }, 's.cron', /five or six fields/],
    [{ cron: '' }, 's.cron', /found ""/],
    [{ cron: 5 }, 's.cron', /found 5/],
    [{ cron: '2026-01-01T00:00:00' }, 's.cron', /five or six fields/],
    [{ cron: '0 0 0 1 1 * 2020' }, 's.cron', /five or six fields/],
    [{ cron: '@reboot' }, 's.cron', /found "@reboot"/],
    [
      { cron: '0 0 * * *', timeZone: 'Europe/Berln' },
      's.timeZone',
      /a time zone such as 'Europe\/Berlin', found "Europe\/Berln"/,
    ],
    [{ cron: '0 0 * * *', timeZone: '' }, 's.timeZone', /found ""/],
    [{ cron: '0 0 * * *', timezone: 'UTC' }, 's.timezone', /Did you mean timeZone\?/],
    [{ every: 5 }, 's.every', /expected a known option/],
    ['0 0 * * *', 's', /expected \{ cron, timeZone\? \} or \{ everyMs \}/],
    [null, 's', /found null/],
  ])('%j', (recurrence, subject, message) => {
    const error = failureOf(() => checkRecurrence('s', recurrence));
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(error.subject).toBe(subject);
    expect(error.message).toMatch(message);
  });
});

function failureOf(action: () => Recurrence): InvalidOptionError {
  try {
    action();
  } catch (error) {
    return error as InvalidOptionError;
  }
  throw new Error('it was not refused');
}

/** Returns a matcher for one field of an expression, parsed independently of the library. */
function matcher(field: string, max: number): (value: number) => boolean {
  return (value) =>
    field.split(',').some((part) => {
      const [range, step = '1'] = part.split('/') as [string, string?];
      const [first, last = first] = range === '*' ? ['0', String(max)] : (range.split('-') as [string, string?]);
      return value >= Number(first) && value <= Number(last) && (value - Number(first)) % Number(step) === 0;
    });
}
