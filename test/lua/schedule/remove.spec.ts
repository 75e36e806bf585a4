import { expect, it } from '@jest/globals';
import { expectUnchanged } from '../../support/queue/queue-state.js';
import { testSchedules } from '../../support/queue/schedules.js';

it('deletes all of it, and leaves its jobs', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s'));
  const due = await schedules.makeDue('s');
  await schedules.tick();
  expect(await q.run(schedules.scripts.remove({ id: 's' }))).toBe('removed');
  expect(await q.pending()).toEqual([`@schedule:s:${due}`]);
  expect(Object.keys(await q.snapshot()).filter((key) => /^(ticks|declared|schedule)/.test(key))).toEqual([]);
  expect(await expectUnchanged(q, () => q.run(schedules.scripts.remove({ id: 's' })))).toBe('missing');
});

it('refuses one that code declares, until it does no more', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s'), 'w1');
  expect(await expectUnchanged(q, () => q.run(schedules.scripts.remove({ id: 's' })))).toBe('declared');
  await schedules.silence('s', 31_000);
  expect(await q.run(schedules.scripts.remove({ id: 's' }))).toBe('removed');
  await q.redis.del(q.keys.wake);
  expect(await q.snapshot()).toEqual({});
});
