// Schedules across real changes of daylight-saving time, by the scripts on a real Redis whose clock the test sets. In
// each, several processes look at once, at every quarter of an hour.
import { describe, expect, it } from '@jest/globals';
import type { Recurrence } from '#queue/model/schedule.js';
import type { ScheduleOptions } from '#queue/schedules/schedule.js';
import { connectClocked } from '../../support/redis/clocked-redis.js';
import { coreQueue, sameQueue } from '../../support/queue/core-queue.js';

const QUARTER = 900_000;

function fleet(start: string) {
  const clock = { nowMs: Date.parse(start) };
  const { queue } = coreQueue({}, connectClocked(clock));
  const replicas = [
    queue,
    sameQueue(queue, {}, connectClocked(clock)),
    sameQueue(queue, {}, connectClocked(clock)),
  ];
  const upsert = (recurrence: Recurrence, options?: ScheduleOptions) =>
    Promise.all(replicas.map((each) => each.schedules.upsert('s', recurrence, options)));
  return {
    upsert,
    /** Lets the time pass, with somebody there or nobody. */
    until: async (end: string, watched = true) => {
      while (clock.nowMs < Date.parse(end)) {
        clock.nowMs += QUARTER;
        if (watched) await Promise.all(replicas.map((each) => each.schedules.tick()));
      }
    },
    look: () => Promise.all(replicas.map((each) => each.schedules.tick())),
    /** The due times of the jobs that were made, oldest first. */
    ticks: async () => {
      const jobs = await queue.list('pending', { limit: 1_000 });
      return jobs.map(({ id }) => new Date(Number(id.split(':').at(-1))).toISOString().replace(':00.000Z', ''));
    },
  };
}

it.each<[string, Recurrence, string, string, string[]]>([
  [
    'at a time that the clock leaps over: at the first moment after the gap',
    { cron: '30 2 * * *', timeZone: 'Europe/Berlin' },
    '2026-03-28T00:00Z',
    '2026-03-30T12:00Z',
    ['2026-03-28T01:30', '2026-03-29T01:00', '2026-03-30T00:30'],
  ],
  [
    'at a time that the clock shows twice: the first time',
    { cron: '30 2 * * *', timeZone: 'Europe/Berlin' },
    '2026-10-24T00:00Z',
    '2026-10-26T12:00Z',
    ['2026-10-24T00:30', '2026-10-25T00:30', '2026-10-26T01:30'],
  ],
  [
    'at several times of which the clock shows some twice: those the first time',
    { cron: '0,30 1-3 * * *', timeZone: 'Europe/Berlin' },
    '2026-10-24T20:00Z',
    '2026-10-25T12:00Z',
    [
      '2026-10-24T23:00',
      '2026-10-24T23:30',
      '2026-10-25T00:00',
      '2026-10-25T00:30',
      '2026-10-25T02:00',
      '2026-10-25T02:30',
    ],
  ],
  [
    'every half an hour as time passes, through the hour that is left out',
    { cron: '*/30 * * * *', timeZone: 'America/New_York' },
    '2026-03-08T06:00Z',
    '2026-03-08T08:00Z',
    ['2026-03-08T06:30', '2026-03-08T07:00', '2026-03-08T07:30', '2026-03-08T08:00'],
  ],
  [
    'every half an hour as time passes, through the hour that is repeated',
    { cron: '*/30 * * * *', timeZone: 'America/New_York' },
    '2026-11-01T05:00Z',
    '2026-11-01T07:00Z',
    ['2026-11-01T05:30', '2026-11-01T06:00', '2026-11-01T06:30', '2026-11-01T07:00'],
  ],
  [
    'in a zone whose clock leaps by half an hour',
    { cron: '15 2 * * *', timeZone: 'Australia/Lord_Howe' },
    '2026-10-02T12:00Z',
    '2026-10-05T00:00Z',
    ['2026-10-02T15:45', '2026-10-03T15:30', '2026-10-04T15:15'],
  ],
  [
    'every two hours since 1970, whatever the clocks show',
    { everyMs: 7_200_000 },
    '2026-10-25T00:00Z',
    '2026-10-25T04:00Z',
    ['2026-10-25T02:00', '2026-10-25T04:00'],
  ],
])('a schedule ticks once a slot for the whole fleet %s', async (_, recurrence, start, end, expected) => {
  const { upsert, until, ticks } = fleet(start);
  await upsert(recurrence);
  await until(end);
  expect(await ticks()).toEqual(expected);
});

const NIGHTLY: Recurrence = { cron: '30 2 * * *', timeZone: 'Europe/Berlin' };

describe('in the night of a change', () => {
  it('a fleet that was down through both hours catches up one tick', async () => {
    const { upsert, until, look, ticks } = fleet('2026-10-24T20:00Z');
    await upsert(NIGHTLY, { onMissed: 'once' });
    await until('2026-10-25T02:00Z', false);
    await look();
    await until('2026-10-25T12:00Z');
    expect(await ticks()).toEqual(['2026-10-25T00:30']);
  });

  it.each([
    ['the same schedule', {}],
    ['another version of it', { payload: 'new' }],
  ])('a restart in the repeated hour that upserts %s makes no second tick', async (_, options) => {
    const { upsert, until, ticks } = fleet('2026-10-24T20:00Z');
    await upsert(NIGHTLY);
    await until('2026-10-25T01:15Z'); // 02:15 for the second time
    await upsert(NIGHTLY, options);
    await until('2026-10-26T00:00Z');
    expect(await ticks()).toEqual(['2026-10-25T00:30']);
  });

  it('a restart in the hour that is left out loses no tick', async () => {
    const { upsert, until, ticks } = fleet('2026-03-28T20:00Z');
    await upsert(NIGHTLY);
    await until('2026-03-29T00:45Z');
    await upsert(NIGHTLY, { payload: 'new' });
    await until('2026-03-29T12:00Z');
    expect(await ticks()).toEqual(['2026-03-29T01:00']);
  });
});
