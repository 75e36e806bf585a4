import { expect, it } from '@jest/globals';
import { expectUnchanged } from '../../support/queue/queue-state.js';
import { HOUR, HOURLY, testSchedules } from '../../support/queue/schedules.js';

it('asks for the next due time by the clock of the server before it makes anything', async () => {
  const { q, schedules } = testSchedules();
  const before = await q.now();
  const call = schedules.scripts.upsert({ schedule: schedules.define('s') });
  const { outcome, nowMs } = await expectUnchanged(q, () => q.run(call));
  expect(outcome).toBe('next');
  expect(nowMs).toBeGreaterThanOrEqual(before);
  expect(nowMs).toBeLessThanOrEqual(await q.now());
});

it('makes a schedule; repeated it changes nothing, whatever next due time comes along', async () => {
  const { q, schedules } = testSchedules();
  const schedule = schedules.define('s');
  expect(await schedules.put(schedule)).toBe('created');
  expect(await expectUnchanged(q, () => schedules.put(schedule, undefined, 5))).toBe('unchanged');
  expect(await expectUnchanged(q, () => schedules.put(schedules.define('s')))).toBe('unchanged');
});

it('changes a schedule, and its next due time with it', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s'), undefined, 5 * HOUR);
  const nextDueMs = (await q.now()) + HOUR;
  const schedule = schedules.define('s', HOURLY, { payload: 1 });
  expect(await q.run(schedules.scripts.upsert({ schedule, nextDueMs }))).toMatchObject({ outcome: 'changed' });
  expect(await schedules.dueAt('s')).toBe(nextDueMs);
  expect(await schedules.field('s', 'payload')).toBe('1');
});

it('keeps a tick that is due, which is then made by the new definition', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s', HOURLY, { payload: 'old' }));
  const due = await schedules.makeDue('s');
  await schedules.put(schedules.define('s', HOURLY, { payload: 'new' }));
  expect(await schedules.dueAt('s')).toBe(due);
  expect(await schedules.tick()).toEqual(['enqueued']);
  expect(await q.field(`@schedule:s:${due}`, 'payload')).toBe('"new"');
});

it('keeps a pause', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s'));
  await q.run(schedules.scripts.pause({ id: 's' }));
  await schedules.put(schedules.define('s', HOURLY, { payload: 1 }));
  expect(await schedules.dueAt('s')).toBe(Infinity);
  expect(await schedules.field('s', 'paused_at_ms')).not.toBeNull();
});

it('keeps the definition of the version that holds the schedule, until no process holds it', async () => {
  const { schedules } = testSchedules();
  const [old, changed] = [schedules.define('s'), schedules.define('s', HOURLY, { payload: 1 })];
  await schedules.put(old, 'w1');
  expect(await schedules.put(changed, 'w2')).toBe('conflict');
  expect(await schedules.field('s', 'version')).toBe(old.version);
  await schedules.silence('s', 0);
  expect(await schedules.put(changed, 'w2')).toBe('changed');
  expect(await schedules.put(old, 'w1')).toBe('conflict');
  expect(await schedules.put(old, 'w2')).toBe('changed');
});

it('refuses a call that would change a schedule of a running process, and takes over one that no process declares', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s'), 'w1');
  const changed = schedules.define('s', HOURLY, { payload: 1 });
  expect(await expectUnchanged(q, () => schedules.put(changed))).toBe('declared');
  const due = await schedules.makeDue('s');
  await schedules.silence('s', HOUR);
  await schedules.due(); // puts it to rest
  expect(await schedules.put(changed)).toBe('changed');
  expect(await schedules.dueAt('s')).toBe(due);
  expect(await schedules.field('s', 'source')).toBe('call');
  expect(await q.redis.exists(q.keys.scheduleOwners)).toBe(0);
});

it('lets code take over a schedule that a call made', async () => {
  const { schedules } = testSchedules();
  await schedules.put(schedules.define('s'));
  expect(await schedules.put(schedules.define('s'), 'w1')).toBe('unchanged');
  expect(await schedules.field('s', 'source')).toBe('code');
  expect(await schedules.put(schedules.define('s', HOURLY, { payload: 1 }))).toBe('declared');
});

it('changes nothing if the schedule is not as the caller knows it', async () => {
  const { q, schedules } = testSchedules();
  const put = async (payload: unknown, knownAt?: Date | null) => {
    const schedule = schedules.define('s', HOURLY, { payload });
    return (await q.run(schedules.scripts.upsert({ schedule, nextDueMs: (await q.now()) + HOUR, knownAt })))
      .outcome;
  };
  const updatedAt = async () => (await q.run(schedules.scripts.get({ id: 's' })))[0]!.updatedAt;
  expect(await expectUnchanged(q, () => put(1, new Date(5)))).toBe('stale');
  expect(await put(1, null)).toBe('created');
  expect(await put(1, null)).toBe('unchanged'); // the reply was lost
  expect(await expectUnchanged(q, () => put(2, null))).toBe('stale');
  await q.redis.hset(q.keys.schedule('s'), 'updated_at_ms', 5);
  const seen = await updatedAt();
  expect(await put(2, seen)).toBe('changed');
  expect(await put(2, seen)).toBe('unchanged');
  expect(await expectUnchanged(q, () => put(3, seen))).toBe('stale');
  expect(await put(3)).toBe('changed');
});
