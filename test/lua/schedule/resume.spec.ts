import { expect, it } from '@jest/globals';
import { expectUnchanged } from '../../support/queue/queue-state.js';
import { HOUR, testSchedules } from '../../support/queue/schedules.js';

it('schedule/resume.lua: continues with the next due time, for the definition that it was computed for', async () => {
  const { q, schedules } = testSchedules();
  const schedule = schedules.define('s');
  await schedules.put(schedule);
  await q.run(schedules.scripts.pause({ id: 's' }));
  const asked = await expectUnchanged(q, () => q.run(schedules.scripts.resume({ id: 's' })));
  expect(asked).toMatchObject({ outcome: 'next', version: schedule.version, recurrence: { everyMs: HOUR } });
  const dueMs = (asked as { nowMs: number }).nowMs + HOUR;
  const stale = schedules.scripts.resume({ id: 's', next: { dueMs, version: 'old' } });
  expect(await expectUnchanged(q, () => q.run(stale))).toMatchObject({ outcome: 'next' });
  const call = schedules.scripts.resume({ id: 's', next: { dueMs, version: schedule.version } });
  expect(await q.run(call)).toEqual({ outcome: 'resumed' });
  expect(await schedules.dueAt('s')).toBe(dueMs);
  expect(await expectUnchanged(q, () => q.run(call))).toEqual({ outcome: 'resumed' });
  expect(await expectUnchanged(q, () => q.run(schedules.scripts.resume({ id: 's' })))).toEqual({
    outcome: 'resumed',
  });
  expect(await q.run(schedules.scripts.resume({ id: 't' }))).toEqual({ outcome: 'missing' });
});
