import { expect, it } from '@jest/globals';
import { onClock } from '#inspect/clock.js';
import { nextTimes, timesAfter } from '#inspect/schedule-rules.js';
import type { ScheduleRecord } from '#queue/model/schedule.js';

const AT = Date.UTC(2026, 10, 27, 10);
const HOUR = 3_600_000;

const schedule = (fields: Partial<ScheduleRecord>): ScheduleRecord =>
  ({ id: 's', queue: 'q', status: 'active', ticks: 0, startAt: null, endAt: null, ...fields }) as ScheduleRecord;

it.each<[string, Partial<ScheduleRecord>, number[]]>([
  ['an interval', { everyMs: HOUR, nextAt: new Date(AT) }, [AT, AT + HOUR, AT + 2 * HOUR]],
  ['one with a limit', { everyMs: HOUR, nextAt: new Date(AT), limit: 7, ticks: 5 }, [AT, AT + HOUR]],
  ['one that ends', { everyMs: HOUR, nextAt: new Date(AT), endAt: new Date(AT + HOUR) }, [AT, AT + HOUR]],
  ['one that rests', { everyMs: HOUR, nextAt: null, status: 'paused' }, []],
  ['one with a broken interval', { everyMs: -5, nextAt: new Date(AT) }, [AT]],
  ['one with a broken jitter', { everyMs: HOUR, jitterMs: -1, nextAt: new Date(AT) }, [AT]],
  ['one in an unknown zone', { cron: '0 3 * * *', timeZone: 'Mars/Olympus', nextAt: new Date(AT) }, [AT]],
])('has the next times of %s', (_which, fields, times) => {
  expect(nextTimes(schedule(fields))).toEqual(times);
});

it('keeps its hour where the clock of its zone changes', () => {
  const berlin = { cron: '0 3 * * *', timeZone: 'Europe/Berlin' };
  const times = timesAfter(berlin, Date.UTC(2026, 9, 23, 12), { queue: 'q', id: 's' });
  expect(times.map((at) => onClock(at, 'Europe/Berlin', AT))).toEqual([
    'Sat 24 Oct, 03:00',
    'Sun 25 Oct, 03:00',
    'Mon 26 Oct, 03:00',
  ]);
});

it.each([
  [
    'Europe/Berlin',
    Date.UTC(2026, 9, 25, 0),
    ['02:00 GMT+2', '02:30 GMT+2', '02:00 GMT+1', '02:30 GMT+1', '03:00'],
  ],
  ['Europe/Berlin', Date.UTC(2026, 2, 29, 0, 30), ['01:30', '03:00', '03:30']],
  ['Australia/Lord_Howe', Date.UTC(2026, 3, 4, 14, 30), ['01:30 GMT+11', '01:30 GMT+10:30', '02:00']],
  ['Antarctica/Troll', Date.UTC(2026, 9, 25, 0), ['02:00 GMT+2', '02:30 GMT+2', '01:00 GMT+0', '01:30 GMT+0']],
  ['UTC', Date.UTC(2026, 9, 25, 0), ['00:00', '00:30']],
])('says in %s which of two equal times one is', (zone, first, clocks) => {
  const shown = clocks.map((_, i) => onClock(first + i * 1_800_000, zone, AT).replace(/^.*, /, ''));
  expect(shown).toEqual(clocks);
});

it.each([
  [Date.UTC(2026, 10, 28, 2), 'Europe/Berlin', AT, 'Sat 28 Nov, 03:00'],
  [Date.UTC(2026, 10, 28, 23, 5), 'Europe/Berlin', AT, 'Sun 29 Nov, 00:05'],
  [Date.UTC(2027, 0, 1, 0, 0, 5), 'UTC', AT, 'Fri 1 Jan 2027, 00:00:05'],
  [AT, 'Mars/Olympus', undefined, 'Fri 27 Nov 2026, 10:00 UTC'],
])('shows %d on the clock of %s', (at, zone, now, words) => {
  expect(onClock(at, zone, now)).toBe(words);
});
