import { expect, it } from '@jest/globals';
import { expectUnchanged } from '../../support/queue/queue-state.js';
import { seededBatch } from '../../support/queue/seeded-batch.js';
import { refTo } from '#queue/store/job-ref.js';

it('adds members of other queues, which count as open', async () => {
  const q = await seededBatch('x');
  expect(
    await q.run(q.scripts.batches.join({ id: 'b', members: [refTo('other', '1'), refTo('other', '2')] })),
  ).toBe('joined');
  expect(await q.run(q.scripts.batches.status({ id: 'b' }))).toMatchObject({ total: 3, open: 3 });
});

it('lets a stopped batch be joined, and says that it is stopped', async () => {
  const q = await seededBatch('x');
  await q.run(q.scripts.batches.stop({ id: 'b' }));
  expect(await q.run(q.scripts.batches.join({ id: 'b', members: [refTo('other', '1')] }))).toBe('stopped');
  expect(await q.run(q.scripts.batches.status({ id: 'b' }))).toMatchObject({ total: 2 });
});

it('refuses new members of a sealed and of an unknown batch', async () => {
  const q = await seededBatch('x');
  await q.run(q.scripts.batches.join({ id: 'b', members: [refTo('other', '1')] }));
  await q.run(q.scripts.batches.seal({ id: 'b' }));
  await expectUnchanged(q, async () => {
    expect(await q.run(q.scripts.batches.join({ id: 'b', members: [refTo('other', '2')] }))).toBe('sealed');
    expect(await q.run(q.scripts.batches.join({ id: 'b', members: [refTo('other', '1')] }))).toBe('joined');
    expect(await q.run(q.scripts.batches.join({ id: 'none', members: [refTo('other', '1')] }))).toBe('no-batch');
  });
});

it('knows a member by its job, once the ended batch has forgotten its members', async () => {
  const q = await seededBatch('x');
  const { batches, keys, enqueue } = q.scripts;
  const member = (id: string) => enqueue([{ id, name: q.name, payload: '{}', options: { batch: 'b' } }]);
  await q.run(batches.seal({ id: 'b' }));
  await q.redis.hset(keys.batchRecord('b'), 'fired_at_ms', '1');
  await q.redis.unlink(keys.batchRecord('b', 'open'), keys.batchRecord('b', 'outcomes'));
  await expectUnchanged(q, async () => {
    expect(await q.run(member('x'))).toEqual([{ id: 'x', outcome: 'new' }]);
    await expect(q.run(member('y'))).rejects.toThrow('sealed');
  });
});
