import { expect, it } from '@jest/globals';
import { seededGroup, theGroup } from './seeded-group.js';

it('deletes old jobs of one group in slices, and counts them', async () => {
  const q = await seededGroup('a', 'b', 'c');
  await q.add('plain');
  expect(await q.run(q.scripts.groups.clean({ name: 'g', olderThanMs: 60_000, limit: 10, passed: 0 }))).toEqual({
    deleted: 0,
    next: undefined,
  });
  expect(await q.run(q.scripts.groups.clean({ name: 'g', olderThanMs: 0, limit: 2, passed: 0 }))).toEqual({
    deleted: 2,
    next: 0,
  });
  expect(await theGroup(q)).toMatchObject({ pending: 1 });
  expect(await q.run(q.scripts.groups.clean({ name: 'g', olderThanMs: 0, limit: 2, passed: 0 }))).toEqual({
    deleted: 1,
    next: undefined,
  });
  expect(await q.total('removed')).toBe(3);
  expect(await q.pending()).toEqual(['plain']);
});

it('passes over the young jobs that it has read', async () => {
  const q = await seededGroup('a', 'b', 'c', 'd', 'e');
  await q.redis.hset(q.keys.job('e'), 'enqueued_at_ms', (await q.now()) - 120_000);
  const clean = (passed: number) =>
    q.run(q.scripts.groups.clean({ name: 'g', olderThanMs: 60_000, limit: 2, passed }));
  expect(await clean(0)).toEqual({ deleted: 0, next: 2 });
  expect(await clean(2)).toEqual({ deleted: 0, next: 4 });
  expect(await clean(4)).toEqual({ deleted: 1, next: undefined });
});
