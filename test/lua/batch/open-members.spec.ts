import { expect, it } from '@jest/globals';
import { refTo } from '#queue/store/job-ref.js';
import { expectUnchanged } from '../../support/queue/queue-state.js';
import { DEFINITION, seededBatch } from '../../support/queue/seeded-batch.js';

it('lists the oldest open members, of this queue and of others, and changes nothing', async () => {
  const q = await seededBatch('x', 'y');
  const { batches } = q.scripts;
  await q.run(batches.join({ id: 'b', members: [refTo('other', 'z')] }));
  await expectUnchanged(q, async () => {
    expect(await q.run(batches.openMembers({ batches: 10, members: 10 }))).toEqual([
      { batch: 'b', queue: q.name, id: 'x', isUnchecked: false },
      { batch: 'b', queue: q.name, id: 'y', isUnchecked: false },
      { batch: 'b', queue: 'other', id: 'z', isUnchecked: false },
    ]);
    expect(await q.run(batches.openMembers({ batches: 10, members: 1 }))).toMatchObject([{ id: 'x' }]);
  });
});

it('reads as many batches as it is asked for, and none that has fired', async () => {
  const q = await seededBatch('x');
  const { batches } = q.scripts;
  await q.redis.zadd(q.keys.batches, 1, 'b');
  await q.run(batches.create({ ...DEFINITION, id: 'fired', followUps: DEFINITION.followUps }));
  await q.run(batches.seal({ id: 'fired' }));
  expect(await q.run(batches.openMembers({ batches: 10, members: 10 }))).toMatchObject([{ batch: 'b' }]);
  await q.redis.zadd(q.keys.batches, 0, 'fired');
  expect(await q.run(batches.openMembers({ batches: 1, members: 10 }))).toEqual([]);
});

it.each([
  ['a minute ago', -61_000, true],
  ['just now', -1_000, false],
])('says that a batch is unchecked that was due %s: %s', async (_, ago, isUnchecked) => {
  const q = await seededBatch('x');
  await q.redis.zadd(q.keys.batches, Date.now() + ago, 'b');
  expect(await q.run(q.scripts.batches.openMembers({ batches: 10, members: 10 }))).toMatchObject([{ isUnchecked }]);
  await q.redis.zadd(q.keys.batches, 0, 'b');
  expect(await q.run(q.scripts.batches.openMembers({ batches: 10, members: 10 }))).toMatchObject([
    { isUnchecked: false },
  ]);
});
