// The bounds of a recurrence: startAt, endAt, limit and jitterMs.
import { describe, expect, it } from '@jest/globals';
import { nextDue, checkRecurrence } from '#queue/schedules/recurrence.js';
import type { Recurrence } from '#queue/model/schedule.js';
import fc from '../../support/queue/properties.js';
import { testQueue } from '../../support/queue/queue-state.js';
import { HOUR, HOURLY, TestSchedules, testSchedules } from '../../support/queue/schedules.js';
import { newQueue, onEachStore } from '../../support/worker/workers.js';

const NOON = Date.UTC(2030, 5, 1, 12);
const OF = { queue: 'q', id: 's' };
const THREE_AT_NIGHT: Recurrence = { cron: '0 3 * * *', timeZone: 'Europe/Berlin' };

function dues(recurrence: Recurrence, afterMs: number, most: number): number[] {
  const found: number[] = [];
  for (let at = nextDue(recurrence, afterMs, OF); at < Infinity && found.length < most;) {
    found.push(at);
    at = nextDue(recurrence, at, OF);
  }
  return found;
}

describe('nextDue', () => {
  it('begins at startAt or later, at the times of the recurrence', () => {
    const startAt = NOON + 5 * HOUR + 1;
    expect(nextDue({ ...HOURLY, startAt }, NOON, OF)).toBe(NOON + 6 * HOUR);
    expect(nextDue({ ...HOURLY, startAt: NOON + HOUR }, NOON, OF)).toBe(NOON + HOUR);
    expect(nextDue({ ...THREE_AT_NIGHT, startAt: NOON + 240 * HOUR }, NOON, OF)).toBe(Date.UTC(2030, 5, 12, 1));
    expect(nextDue({ ...HOURLY, startAt: NOON - HOUR }, NOON, OF)).toBe(NOON + HOUR);
  });

  it('ends with the last tick at endAt or earlier', () => {
    const endAt = NOON + 3 * HOUR;
    expect(dues({ ...HOURLY, endAt }, NOON, 10)).toEqual([1, 2, 3].map((n) => NOON + n * HOUR));
    expect(dues({ ...HOURLY, endAt: endAt - 1 }, NOON, 10)).toHaveLength(2);
    expect(nextDue({ ...HOURLY, endAt }, endAt, OF)).toBe(Infinity);
  });

  it('delays each tick by its jitter, alike in each process, and loses and repeats none', () => {
    const schedule = fc.record({
      everyMs: fc.integer({ min: 100, max: 10 * HOUR }),
      part: fc.double({ min: 0, max: 1, noNaN: true }),
      from: fc.integer({ min: NOON, max: NOON + 100 * HOUR }),
      id: fc.string(),
    });
    fc.assert(
      fc.property(schedule, ({ everyMs, part, from, id }) => {
        const jitterMs = Math.floor(everyMs * part);
        const of = { queue: 'q', id };
        let [at, last] = [from, -Infinity];
        for (let i = 0; i < 20; i++) {
          at = nextDue({ everyMs, jitterMs }, at, of);
          expect(at).toBe(nextDue({ everyMs, jitterMs }, at - 1, of));
          const tick = Math.floor((at - jitterMs + everyMs - 1) / everyMs) * everyMs;
          expect(at - tick).toBeGreaterThanOrEqual(0);
          if (jitterMs < everyMs && last !== -Infinity) {
            expect(tick - last).toBe(everyMs);
          }
          last = tick;
        }
      }),
    );
  });

  it('spreads schedules with equal times, and puts no tick beyond endAt', () => {
    const [recurrence, ids] = [{ ...HOURLY, jitterMs: HOUR / 2 }, Array.from({ length: 200 }, (_, i) => `s${i}`)];
    const delays = ids.map((id) => nextDue(recurrence, NOON + HOUR / 2, { queue: 'q', id }) - NOON - HOUR);
    expect(Math.min(...delays)).toBeLessThan(HOUR / 10);
    expect(Math.max(...delays)).toBeGreaterThan(HOUR / 2 - HOUR / 10);
    expect(new Set(delays).size).toBeGreaterThan(190);
    const ends = ids.map((id) =>
      nextDue({ ...recurrence, endAt: NOON + HOUR }, NOON + HOUR / 2, { queue: 'q', id }),
    );
    expect(new Set(ends)).toEqual(new Set([NOON + HOUR]));
  });
});

describe('the bounds of a recurrence', () => {
  it.each([
    [{ ...HOURLY, startAt: 'tomorrow' }, 'startAt: expected a valid Date or epoch ms'],
    [{ ...HOURLY, endAt: new Date(Number.NaN) }, 'endAt: expected a valid Date or epoch ms'],
    [{ ...HOURLY, startAt: 2_000, endAt: 1_000 }, 'endAt: expected an instant not before startAt'],
    [{ ...HOURLY, limit: 0 }, 'limit: expected a whole number from 1'],
    [{ ...HOURLY, jitterMs: HOUR + 1 }, `jitterMs: expected at most the time between two ticks, ${HOUR} ms`],
    [
      { cron: '*/5 9 * * *', jitterMs: 300_001 },
      'jitterMs: expected at most the time between two ticks, 300000 ms',
    ],
    [{ ...HOURLY, until: 5 }, 'until'],
  ])('are refused where they are nonsense: %j', (recurrence, message) => {
    expect(() => checkRecurrence('schedule "s"', recurrence)).toThrow(message);
  });

  it('are stored as epoch ms, so that a Date and its number are one definition', () => {
    const [at, of] = [new Date(NOON), new TestSchedules(testQueue())];
    expect(checkRecurrence('s', { ...HOURLY, startAt: at, endAt: at, limit: 1, jitterMs: 0 })).toEqual({
      ...HOURLY,
      startAt: NOON,
      endAt: NOON,
      limit: 1,
    });
    expect(of.define('s', { ...HOURLY, endAt: at }).version).toBe(
      of.define('s', { ...HOURLY, endAt: NOON }).version,
    );
  });
});

describe('a schedule that ends', () => {
  it('makes as many jobs as its limit, whichever process ticks, and is forgotten after a day', async () => {
    const { q, schedules } = testSchedules();
    const once = schedules.define('s', { ...HOURLY, limit: 2 });
    await schedules.put(once);
    for (const [n, answer] of ['enqueued', 'enqueued'].entries()) {
      await schedules.makeDue('s', 5_000 - n * 1_000);
      expect(await schedules.tick()).toEqual([answer]);
    }
    expect(await schedules.dueAt('s')).toBe(Infinity);
    expect((await q.run(schedules.scripts.get({ id: 's' })))[0]).toMatchObject({
      status: 'ended',
      nextAt: null,
      ticks: 2,
    });
    expect(await schedules.put(once)).toBe('unchanged');
    expect(await schedules.dueAt('s')).toBe(Infinity);
    await schedules.silence('s', 25 * HOUR);
    await q.run(q.scripts.sweep.tidy({ limit: 500 }));
    expect(await q.run(schedules.scripts.get({ id: 's' }))).toEqual([]);
  });

  it('a tick that another definition left due is not made beyond the limit', async () => {
    const { q, schedules } = testSchedules();
    await schedules.put(schedules.define('s'));
    await schedules.makeDue('s', 2_000);
    await schedules.tick();
    await schedules.makeDue('s', 1_000);
    await schedules.put(schedules.define('s', { ...HOURLY, limit: 1 }));
    expect(await schedules.tick()).toEqual(['lost']);
    expect(await q.pending()).toHaveLength(1);
    expect(await schedules.dueAt('s')).toBe(Infinity);
  });

  it('continues when its limit is raised, and lives until it is removed again', async () => {
    const { q, schedules } = testSchedules();
    await schedules.put(schedules.define('s', { ...HOURLY, limit: 1 }));
    await schedules.makeDue('s');
    await schedules.tick();
    expect(await schedules.put(schedules.define('s', { ...HOURLY, limit: 2 }))).toBe('changed');
    expect(await schedules.dueAt('s')).toBeGreaterThan(Date.now());
    expect(await schedules.field('s', 'ended_at_ms')).toBeNull();
    expect(await q.redis.exists(q.keys.scheduleOwners)).toBe(0);
  });

  it('one that code declares stays as long as it is declared', async () => {
    const { q, schedules } = testSchedules();
    await schedules.put(schedules.define('s', { ...HOURLY, limit: 1 }), 'w1');
    await schedules.makeDue('s');
    await schedules.tick();
    expect((await q.run(schedules.scripts.get({ id: 's' })))[0]).toMatchObject({ status: 'ended', source: 'code' });
    expect(
      await q.run(
        schedules.scripts.declare({
          worker: 'w1',
          declares: true,
          schedules: [schedules.define('s', { ...HOURLY, limit: 1 })],
        }),
      ),
    ).toEqual(['declared']);
    expect(await schedules.dueAt('s')).toBe(Infinity);
  });
});

onEachStore('a schedule with bounds', () => {
  it('ends at once where endAt is over, also after a resume, and runs by hand', async () => {
    const queue = newQueue();
    await queue.schedules.upsert('over', { ...HOURLY, endAt: 1_000 });
    expect(await queue.schedules.get('over')).toMatchObject({
      status: 'ended',
      nextAt: null,
      endAt: new Date(1_000),
    });
    await queue.schedules.pause('over');
    expect(await queue.schedules.get('over')).toMatchObject({ status: 'paused' });
    await queue.schedules.resume('over');
    expect(await queue.schedules.get('over')).toMatchObject({ status: 'ended' });
    expect(await queue.schedules.tick()).toMatchObject({ enqueued: 0, skipped: 0, nextDueInMs: undefined });
    await queue.schedules.runNow('over');
    expect((await queue.stats()).pending).toBe(1);
  });

  it('waits for startAt, and shows its bounds', async () => {
    const queue = newQueue();
    const startAt = new Date(NOON);
    await queue.schedules.upsert('later', { ...HOURLY, startAt, limit: 5, jitterMs: 1_000 });
    const record = (await queue.schedules.get('later'))!;
    expect(record).toMatchObject({ status: 'active', startAt, endAt: null, limit: 5, jitterMs: 1_000 });
    expect(record.nextAt!.getTime()).toBe(
      nextDue({ ...HOURLY, startAt, jitterMs: 1_000 }, 0, { queue: queue.name, id: 'later' }),
    );
  });
});
