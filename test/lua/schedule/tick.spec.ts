import { expect, it } from '@jest/globals';
import { cutScript } from '../../support/queue/cut-script.js';
import { expectUnchanged } from '../../support/queue/queue-state.js';
import { HOUR, HOURLY, testSchedules } from '../../support/queue/schedules.js';

it('enqueues one job with the id of the tick, sets the next due time, and wakes a worker', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s', HOURLY, { payload: { a: [] }, maxAttempts: 7 }));
  const due = await schedules.makeDue('s');
  await q.takeWake();
  expect(await schedules.tick()).toEqual(['enqueued']);
  expect(await q.pending()).toEqual([`@schedule:s:${due}`]);
  expect(await q.job(`@schedule:s:${due}`)).toMatchObject({
    name: q.name,
    payload: '{"a":[]}',
    schedule: 's',
    status: 'pending',
    max_attempts: '7',
  });
  expect(await schedules.dueAt('s')).toBeGreaterThan(due + HOUR);
  expect(await q.takeWake()).toBe(true);
  expect(await q.total('enqueued')).toBe(1);
  expect(await schedules.field('s', 'last_job')).toBe(`@schedule:s:${due}`);
  expect(await schedules.field('s', 'ticks')).toBe('1');
});

it('ticks where a counter of the queue is not a number', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s', HOURLY));
  const due = await schedules.makeDue('s');
  await q.redis.hset(q.keys.stats, 'enqueued_total', '1e999');
  expect(await schedules.tick()).toEqual(['enqueued']);
  expect(await q.pending()).toEqual([`@schedule:s:${due}`]);
  expect(await schedules.dueAt('s')).toBeGreaterThan(due);
  expect(await schedules.field('s', 'ticks')).toBe('1');
});

it('makes no tick of a due time whose digits only end or begin that of the schedule', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s'));
  const due = await schedules.makeDue('s');
  const version = (await schedules.field('s', 'version'))!;
  const nextDueMs = (await q.now()) + HOUR;
  for (const dueAtMs of [Number(String(due).slice(4)), Number(String(due).slice(0, -4))]) {
    await expectUnchanged(q, async () => {
      const ticks = [{ id: 's', dueAtMs, version, nextDueMs }];
      expect(await q.run(q.scripts.schedules.tick({ ticks }))).toEqual(['lost']);
    });
  }
});

it('moves a schedule to an earlier time, where its clock was ahead', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s'));
  const later = (await q.now()) + 10 * 3_600_000;
  await q.redis.zadd(q.keys.scheduleDue, 'XX', later, 's');
  const nextDueMs = (await q.now()) + 3_600_000;
  const version = (await schedules.field('s', 'version'))!;
  expect(
    await q.run(q.scripts.schedules.tick({ ticks: [{ id: 's', dueAtMs: later, version, nextDueMs }] })),
  ).toEqual(['moved']);
  expect(await schedules.dueAt('s')).toBe(nextDueMs);
  expect(await q.pending()).toEqual([]);
});

it('ends a schedule with the last tick that it may make', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s'));
  await q.redis.hset(q.keys.schedule('s'), 'tick_limit', 2);
  await schedules.makeDue('s', 2_000);
  expect(await schedules.tick()).toEqual(['enqueued']);
  expect(await schedules.field('s', 'ended_at_ms')).toBeNull();
  await schedules.makeDue('s');
  expect(await schedules.tick()).toEqual(['enqueued']);
  expect(await schedules.field('s', 'ended_at_ms')).not.toBeNull();
  expect(await schedules.dueAt('s')).toBe(Infinity);
});

it('a job of a tick runs like any other', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s', HOURLY, { priority: 9, timeoutMs: 500 }));
  await schedules.makeDue('s');
  await schedules.tick();
  expect(await q.ranked(q.keys.prioritized)).toHaveLength(1);
  const [job] = await q.claim(1);
  expect(job).toMatchObject({ payload: null, options: { timeoutMs: 500 } });
  expect((await q.complete(job!)).lost).toEqual([]);
  expect(await q.status(job!.id)).toBe('completed');
});

it('I3: repeated, or asked by another caller, it makes no second job', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s'));
  await schedules.makeDue('s');
  const { due } = await schedules.due();
  const call = schedules.scripts.tick({ ticks: due.map((each) => ({ ...each, nextDueMs: Date.now() + HOUR })) });
  expect(await q.run(call)).toEqual(['enqueued']);
  expect(await expectUnchanged(q, () => q.run(call))).toEqual(['lost']);
});

it('I3: makes no second job for a due time that comes again', async () => {
  const { q, schedules } = testSchedules();
  const schedule = schedules.define('s');
  await schedules.put(schedule);
  const due = await schedules.makeDue('s');
  await schedules.tick();
  await q.run(schedules.scripts.remove({ id: 's' }));
  await schedules.put(schedule);
  await q.redis.zadd(q.keys.scheduleDue, due, 's');
  await schedules.tick();
  expect(await q.pending()).toEqual([`@schedule:s:${due}`]);
});

it('makes no second job for a due time that comes again after the record of its job is gone', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s'));
  const due = await schedules.makeDue('s');
  await schedules.tick();
  const [job] = await q.claim(1);
  await q.complete(job!);
  await q.run(q.scripts.remove({ id: job!.id }));
  for (const before of [0, 1_000]) {
    await q.redis.zadd(q.keys.scheduleDue, due - before, 's');
    expect(await schedules.tick()).toEqual(['lost']);
  }
  expect(await q.pending()).toEqual([]);
  expect(await schedules.field('s', 'ticks')).toBe('1');
});

it('gives a job of its own to a due time that comes again after the clock was ahead', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s'));
  const due = await schedules.makeDue('s');
  await schedules.tick();
  const ahead = (await q.now()) + HOUR; // when the clock was ahead, there was a tick
  await q.redis.hset(q.keys.schedule('s'), 'last_tick_at_ms', ahead);
  await q.redis.zadd(q.keys.scheduleDue, due, 's');
  expect(await schedules.tick()).toEqual(['enqueued']);
  expect(await q.pending()).toEqual([`@schedule:s:${due}`, `@schedule:s:${due + 1}`]);
  expect(await schedules.field('s', 'repeats_until_ms')).toBe(String(ahead));
});

it('moves on to the next due time before it makes a job, so that one that breaks off is not made again', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s'));
  await schedules.makeDue('s');
  const { due } = await schedules.due();
  const nextDueMs = (await q.now()) + HOUR;
  const call = schedules.scripts.tick({ ticks: [{ ...due[0]!, nextDueMs }] });
  expect(await cutScript(q.redis, call, 1)).toBe(true);
  expect(await schedules.dueAt('s')).toBe(nextDueMs);
});

it('I5: makes no tick that is not due by the time of the server', async () => {
  const { q, schedules } = testSchedules();
  const schedule = schedules.define('s');
  await schedules.put(schedule);
  const dueAtMs = await schedules.dueAt('s');
  const early = { id: 's', dueAtMs, version: schedule.version, recurrence: '', nextDueMs: dueAtMs + HOUR };
  const past = { ...early, nextDueMs: (await q.now()) - HOUR };
  for (const tick of [early, past]) {
    expect(await expectUnchanged(q, () => q.run(schedules.scripts.tick({ ticks: [tick] })))).toEqual(['lost']);
  }
});

it.each([
  ['the due time has changed', { dueAtMs: 5 }],
  ['the definition has changed', { version: 'old' }],
  ['the next due time is not later', { nextDueMs: 5 }],
  ['the next due time is none', { nextDueMs: NaN }],
  ['the schedule is gone', { id: 'gone' }],
])('changes nothing where %s', async (_why, wrong) => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s'));
  await schedules.makeDue('s');
  const { due } = await schedules.due();
  const call = schedules.scripts.tick({ ticks: [{ ...due[0]!, nextDueMs: Date.now() + HOUR, ...wrong }] });
  expect(await expectUnchanged(q, () => q.run(call))).toEqual(['lost']);
});

it('skips a tick that is later than its schedule allows, or makes it once', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('late', HOURLY, { missedAfterMs: 5_000 }));
  await schedules.put(schedules.define('missed', HOURLY, { missedAfterMs: 5_000 }));
  await schedules.put(schedules.define('once', HOURLY, { missedAfterMs: 5_000, onMissed: 'once' }));
  await schedules.makeDue('late', 2_000);
  await schedules.makeDue('missed', 7_000);
  const due = await schedules.makeDue('once', 72 * HOUR);
  expect((await schedules.tick()).toSorted()).toEqual(['enqueued', 'enqueued', 'skipped']);
  expect(await q.pending()).toContain(`@schedule:once:${due}`);
  expect(await schedules.field('missed', 'skipped')).toBe('1');
  expect(await schedules.field('missed', 'last_job')).toBeNull();
  expect((await schedules.due()).due).toEqual([]);
});

it('without overlap enqueues nothing while the last job is unfinished', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s', HOURLY, { overlap: false }));
  await schedules.makeDue('s', 3_000);
  expect(await schedules.tick()).toEqual(['enqueued']);
  await schedules.makeDue('s', 2_000);
  expect(await schedules.tick()).toEqual(['kept']);
  const [job] = await q.claim(1);
  await schedules.makeDue('s', 1_000);
  expect(await schedules.tick()).toEqual(['kept']);
  await q.complete(job!);
  await schedules.makeDue('s', 0);
  expect(await schedules.tick()).toEqual(['enqueued']);
  expect(await schedules.field('s', 'skipped')).toBe('2');
});

it('notes its runs, with the ends of their jobs as far as they are known by then', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s', HOURLY, { missedAfterMs: 60_000, overlap: false }));
  const runs = async () => (await schedules.field('s', 'runs'))?.split(' ');
  const missed = await schedules.makeDue('s', 70_000);
  await schedules.tick();
  expect(await runs()).toEqual([`${missed}=missed`]);
  const first = await schedules.makeDue('s', 50_000);
  await schedules.tick();
  expect(await runs()).toEqual([`${first}=pending`, `${missed}=missed`]);
  const kept = await schedules.makeDue('s', 40_000);
  const [job] = await q.claim(1);
  await schedules.tick();
  expect(await runs()).toEqual([`${kept}=kept`, `${first}=processing`, `${missed}=missed`]);
  await q.complete(job!);
  const second = await schedules.makeDue('s', 30_000);
  await schedules.tick();
  await q.run(q.scripts.remove({ id: `@schedule:s:${first}` }));
  await q.run(q.scripts.remove({ id: `@schedule:s:${second}` }));
  const third = await schedules.makeDue('s', 20_000);
  await schedules.put(schedules.define('s', HOURLY));
  await schedules.tick();
  const noted = [`${third}=pending`, `${second}=gone`, `${kept}=kept`, `${first}=completed`, `${missed}=missed`];
  expect(await runs()).toEqual(noted);
});

it('keeps its last twenty runs', async () => {
  const { schedules } = testSchedules();
  await schedules.put(schedules.define('s', HOURLY));
  for (let i = 25; i > 0; i--) {
    await schedules.makeDue('s', i * 1_000);
    await schedules.tick();
  }
  expect((await schedules.field('s', 'runs'))!.split(' ')).toHaveLength(20);
});

it('makes none of its ticks where one of them needs a key that has another type', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('plain'));
  await schedules.put(schedules.define('urgent', HOURLY, { priority: 1 }));
  await schedules.makeDue('plain', 2_000);
  await schedules.makeDue('urgent');
  const { due } = await schedules.due();
  await q.redis.set(q.keys.prioritized, 'of another program');
  q.broken = true;
  await expectUnchanged(q, async () => {
    const ticks = schedules.scripts.tick({
      ticks: due.map((each) => ({ ...each, nextDueMs: Date.now() + HOUR })),
    });
    await expect(q.run(ticks)).rejects.toThrow('WRONGTYPE');
  });
});

it('continues after a schedule whose hash is broken', async () => {
  const { q, schedules } = testSchedules();
  const [broken, sound] = [schedules.define('broken'), schedules.define('sound')];
  await schedules.put(broken);
  await schedules.put(sound);
  await schedules.makeDue('broken', 2_000);
  await schedules.makeDue('sound');
  const { due } = await schedules.due();
  await q.redis.del(q.keys.schedule('broken'));
  await q.redis.set(q.keys.schedule('broken'), 'text');
  const nextDueMs = Date.now() + HOUR;
  const answers = await q.run(schedules.scripts.tick({ ticks: due.map((each) => ({ ...each, nextDueMs })) }));
  expect(answers).toEqual(['lost', 'enqueued']);
  await schedules.due();
  expect(await q.ranked(q.keys.scheduleDue)).toEqual(['sound']);
});
