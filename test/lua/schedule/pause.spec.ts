import { expect, it } from '@jest/globals';
import { expectUnchanged } from '../../support/queue/queue-state.js';
import { testSchedules } from '../../support/queue/schedules.js';

it('schedule/pause.lua: stops the ticks, also one that is due; repeated it changes nothing', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s'));
  await schedules.makeDue('s');
  expect(await q.run(schedules.scripts.pause({ id: 's' }))).toBe('paused');
  expect((await schedules.due()).due).toEqual([]);
  expect(await expectUnchanged(q, () => q.run(schedules.scripts.pause({ id: 's' })))).toBe('paused');
  expect(await expectUnchanged(q, () => q.run(schedules.scripts.pause({ id: 't' })))).toBe('missing');
});
