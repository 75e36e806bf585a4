import { expect, it } from '@jest/globals';
import { seededGroup, theGroup } from './seeded-group.js';

it('sets the limits of one group, which the next claims obey', async () => {
  const q = await seededGroup('a', 'b');
  await q.run(q.scripts.groups.set({ name: 'g', limits: { maxRunning: 1 } }));
  expect((await theGroup(q)).limits).toMatchObject({ maxRunning: 1 });
  expect(await q.claim(2)).toMatchObject([{ id: 'a' }]);
});
