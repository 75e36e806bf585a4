import { expect, it } from '@jest/globals';
import { testQueue } from '../../support/queue/queue-state.js';
import { seededGroup } from './seeded-group.js';

it('lists groups by depth and by the age of their heads, and any by name', async () => {
  const q = await seededGroup('old');
  for (const id of ['x', 'y']) {
    await q.add(id, { group: 'deep' });
  }
  const names = async (by: 'depth' | 'age', offset = 0, limit = 10) =>
    (await q.run(q.scripts.groups.list({ by, offset, limit }))).map(({ name }) => name);
  expect(await names('depth')).toEqual(['deep', 'g']);
  expect(await names('age')).toEqual(['g', 'deep']);
  expect(await names('depth', 1, 1)).toEqual(['g']);
  const [deep, none] = await q.run(q.scripts.groups.named(['deep', 'none']));
  expect(deep).toMatchObject({ name: 'deep', pending: 2, running: 0, heldBy: null, limits: {} });
  expect(none).toMatchObject({ name: 'none', pending: 0, oldestPendingAgeMs: 0 });
});

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
