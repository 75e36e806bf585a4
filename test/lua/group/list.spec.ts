import { expect, it } from '@jest/globals';
import { testQueue } from '../../support/queue/queue-state.js';

it('has a turn for each of many groups that enter at once, and for no other', async () => {
  const q = testQueue();
  const groups = Array.from({ length: 30 }, (_, i) => `g${10 + i}`);
  await q.run(
    q.scripts.enqueue(groups.map((group) => ({ id: group, name: q.name, payload: '{}', options: { group } }))),
  );
  expect((await q.ranked(`${q.keys.groupsPrefix}turns`)).toSorted()).toEqual(groups);
  const listed = await q.run(q.scripts.groups.list({ by: 'depth', offset: 0, limit: 99 }));
  expect(listed.map(({ name }) => name).toSorted()).toEqual(groups);
});
