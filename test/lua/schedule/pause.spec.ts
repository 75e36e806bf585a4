import { describe, expect, it } from '@jest/globals';
import { expectUnchanged, testQueue } from '../../support/queue/queue-state.js';
import { TestSchedules } from '../../support/queue/schedules.js';

describe('schedule/pause.lua', () => {
  it('stops the ticks, also one that is due; repeated it changes nothing', async () => {
    const q = testQueue();
    const schedules = new TestSchedules(q);
    await schedules.put(schedules.define('s'));
    await schedules.makeDue('s');
    expect(await q.run(schedules.scripts.pause({ id: 's' }))).toBe('paused');
    expect((await schedules.due()).due).toEqual([]);
    expect(await expectUnchanged(q, () => q.run(schedules.scripts.pause({ id: 's' })))).toBe('paused');
    expect(await expectUnchanged(q, () => q.run(schedules.scripts.pause({ id: 't' })))).toBe('missing');
  });
});
