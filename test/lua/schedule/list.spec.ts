import { describe, expect, it } from '@jest/globals';
import { expectUnchanged, testQueue } from '../../support/queue/queue-state.js';
import { HOUR, TestSchedules } from '../../support/queue/schedules.js';

describe('schedule/list.lua', () => {
  it('shows one, or a page: the next due first, those at rest last', async () => {
    const q = testQueue();
    const schedules = new TestSchedules(q);
    for (const [id, dueInMs] of [
      ['b', 2 * HOUR],
      ['a', HOUR],
      ['paused', 5],
    ] as const) {
      await schedules.put(schedules.define(id), undefined, dueInMs);
    }
    await schedules.put(schedules.define('code'), 'w1', 3 * HOUR);
    await q.run(schedules.scripts.pause('paused'));
    const page = await expectUnchanged(q, () => q.run(schedules.scripts.list(0, 10)));
    expect(page.map(({ id, status, source }) => [id, status, source])).toEqual([
      ['a', 'active', 'call'],
      ['b', 'active', 'call'],
      ['code', 'active', 'code'],
      ['paused', 'paused', 'call'],
    ]);
    expect(page[0]!.nextAt!.getTime()).toBe(await schedules.dueAt('a'));
    expect(page[3]!.nextAt).toBeNull();
    expect((await q.run(schedules.scripts.list(1, 2))).map(({ id }) => id)).toEqual(['b', 'code']);
    await schedules.silence('code', 31_000);
    expect(await q.run(schedules.scripts.get('code'))).toMatchObject([{ id: 'code', status: 'undeclared' }]);
    expect(await q.run(schedules.scripts.get('none'))).toEqual([]);
  });
});
