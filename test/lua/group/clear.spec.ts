import { expect, it } from '@jest/globals';
import { seededGroup, theGroup } from './seeded-group.js';

it('clears the settings of one group, and keeps its pause', async () => {
  const q = await seededGroup('a', 'b');
  await q.run(q.scripts.groups.set('g', { maxRunning: 1 }));
  await q.run(q.scripts.groups.pause('g', {}));
  await q.run(q.scripts.groups.clear('g'));
  expect(await theGroup(q)).toMatchObject({ limits: {}, pausedAt: expect.any(Date) });
  await q.run(q.scripts.groups.resume('g'));
  expect(await q.claim(2)).toHaveLength(2);
});
