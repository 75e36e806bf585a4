import { expect, it } from '@jest/globals';
import { seededGroup, theGroup } from './seeded-group.js';

it('starts no job of a paused group, and keeps who paused it first', async () => {
  const q = await seededGroup('a');
  await q.add('plain');
  expect(await q.run(q.scripts.groups.pause('g', { by: 'ada', reason: 'why' }))).toBe(true);
  expect(await q.run(q.scripts.groups.pause('g', { by: 'bob' }))).toBe(false);
  expect(await theGroup(q)).toMatchObject({ pausedBy: 'ada', pauseReason: 'why', pausedAt: expect.any(Date) });
  expect(await q.claim(2)).toMatchObject([{ id: 'plain' }]);
});
