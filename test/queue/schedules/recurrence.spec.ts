/** @jest-environment ./test/support/own-environment.mjs */
import { describe, expect, it, jest } from '@jest/globals';
import fc from '../../support/queue/properties.js';
import { InvalidOptionError } from '#queue/errors/errors.js';
import {
  changesOf,
  EXPRESSIONS,
  expectedTicks,
  foundTicks,
  HOUR,
  MINUTE,
  minutesOf,
  type WallMinute,
} from '../../support/queue/cron-oracle.js';
import { checkRecurrence, nextTick } from '#queue/schedules/recurrence.js';
import { type Recurrence } from '#queue/model/schedule.js';
import { casesOf, someOf } from '../../support/run/samples.js';

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
  ['America/Nuuk', '2026-03-29'],
  ['America/Nuuk', '2026-10-25'],
  ['UTC', '2026-03-29'],
];

/** Zones with different changes: by night, at midnight, after it, by half an hour, and for Ramadan. */
const KINDS_OF_CHANGES = [
  'America/Nuuk',
  'Atlantic/Azores',
  'Europe/London',
  'Europe/Berlin',
  'Europe/Kyiv',
  'America/New_York',
  'America/Havana',
  'America/Santiago',
  'Asia/Beirut',
  'Africa/Cairo',
  'Africa/Casablanca',
  'Australia/Lord_Howe',
  'Pacific/Easter',
  'Antarctica/Troll',
];

/** Returns the hours and minutes of the wall clock. */
function clockOf({ wall }: WallMinute): string {
  return new Date(wall).toISOString().slice(11, 16);
}

describe('the ticks of a cron expression', () => {
  it.each(CHANGES)('in %s around %s: as time passes, where it has a wildcard or a step', (timeZone, day) => {
    const from = Date.parse(`${day}T00:00:00Z`) - 15 * HOUR;
    const wall = minutesOf(timeZone, from, from + 32 * HOUR);
    const minutePart = fc.constantFrom('*/5', '*/7', '*/15', '*/30', '*/4', '0', '10', '45', '5,35', '10-20');
    const hourPart = fc.constantFrom('*', '*/2', '*/3', '*', '0-5/1', '22-23');
    fc.assert(
      fc.property(minutePart, hourPart, (minute, hour) => {
        fc.pre(/[*/]/.test(minute + hour));
        const cron = `${minute} ${hour} * * *`;
        expect(foundTicks(cron, timeZone, wall)).toEqual(expectedTicks(cron, wall));
      }),
      { numRuns: casesOf(8, 3) },
    );
  });

  it.each(CHANGES)('in %s around %s: at fixed times once a day, whatever the clock does', (timeZone, day) => {
    const around = Date.parse(`${day}T12:00:00Z`);
    const wall = minutesOf(timeZone, around - 40 * HOUR, around + 40 * HOUR);
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 0, max: 59 }), { minLength: 1, maxLength: 3 }),
        fc.uniqueArray(fc.integer({ min: 0, max: 23 }), { minLength: 1, maxLength: 3 }),
        (minutes, hours) => {
          const cron = `${minutes.join(',')} ${hours.join(',')} * * *`;
          expect(foundTicks(cron, timeZone, wall)).toEqual(expectedTicks(cron, wall));
        },
      ),
      { numRuns: casesOf(20, 6) },
    );
  });

  it('follow the oracle at one change of each kind of a year', () => {
    const [from, to] = [Date.parse('2026-01-01T00:00:00Z'), Date.parse('2027-01-01T00:00:00Z')];
    const seen = new Set<string>();
    for (const timeZone of KINDS_OF_CHANGES) {
      for (const change of changesOf(timeZone, from, to)) {
        const wall = minutesOf(timeZone, change - 30 * HOUR, change + 30 * HOUR);
        const at = wall.findIndex((each, i) => i > 0 && each.wall - wall[i - 1]!.wall !== MINUTE);
        const kind = `${clockOf(wall[at - 1]!)} to ${clockOf(wall[at]!)}`;
        if (seen.has(kind)) continue;
        seen.add(kind);
        for (const cron of someOf(EXPRESSIONS, 6)) {
          const expected = { timeZone, cron, ticks: expectedTicks(cron, wall) };
          expect({ timeZone, cron, ticks: foundTicks(cron, timeZone, wall) }).toEqual(expected);
        }
      }
    }
    expect(seen).toContain('22:59 to 00:00'); // the gap of Nuuk, which ends at midnight
    expect(seen.size).toBeGreaterThan(10);
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

it('the ticks of everyMs are whole multiples of it, strictly later than any time before', () => {
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
  [
    { everyMs: 5_000, endAt: Math.floor(Date.now() / 1_000) },
    's.endAt',
    /a valid Date or epoch ms \(not seconds\) before/,
  ],
  ['0 0 * * *', 's', /expected \{ cron, timeZone\? \} or \{ everyMs \}/],
  [null, 's', /found null/],
])('a recurrence is refused %j', (recurrence, subject, message) => {
  const error = failureOf(() => checkRecurrence('s', recurrence));
  expect(error).toBeInstanceOf(InvalidOptionError);
  expect(error.subject).toBe(subject);
  expect(error.message).toMatch(message);
});

function failureOf(action: () => Recurrence): InvalidOptionError {
  try {
    action();
  } catch (error) {
    return error as InvalidOptionError;
  }
  throw new Error('it was not refused');
}
