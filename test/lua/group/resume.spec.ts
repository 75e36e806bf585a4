import { expect, it } from '@jest/globals';
import { seededGroup, theGroup } from './seeded-group.js';

it('ends a pause once, and wakes a worker', async () => {
  const q = await seededGroup('a');
  await q.run(q.scripts.groups.pause({ name: 'g' }));
  await q.takeWake();
  expect(await q.run(q.scripts.groups.resume({ name: 'g' }))).toBe(true);
  expect(await q.takeWake()).toBe(true);
  expect(await q.run(q.scripts.groups.resume({ name: 'g' }))).toBe(false);
  expect(await theGroup(q)).toMatchObject({ pausedAt: null });
  expect(await q.claim(2)).toMatchObject([{ id: 'a' }]);
});
