import { expect, it } from '@jest/globals';
import { seededGroup, theGroup } from './seeded-group.js';

it('clears the settings of one group, and keeps its pause', async () => {
  const q = await seededGroup('a', 'b');
  await q.run(q.scripts.groups.set({ name: 'g', limits: { maxRunning: 1 } }));
  await q.run(q.scripts.groups.pause({ name: 'g' }));
  await q.run(q.scripts.groups.clear({ name: 'g' }));
  expect(await theGroup(q)).toMatchObject({ limits: {}, pausedAt: expect.any(Date) });
  await q.run(q.scripts.groups.resume({ name: 'g' }));
  expect(await q.claim(2)).toHaveLength(2);
});
