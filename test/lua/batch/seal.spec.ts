import { expect, it } from '@jest/globals';
import { followUpRef } from '#queue/store/job-ref.js';
import { expectUnchanged, testQueue } from '../../support/queue/queue-state.js';
import { DEFINITION, seededBatch } from '../../support/queue/seeded-batch.js';

it('seals a batch whose members are open, without firing it', async () => {
  const q = await seededBatch('x');
  expect(await q.run(q.scripts.batches.seal({ id: 'b' }))).toBe('sealed');
  expect(await q.run(q.scripts.batches.status({ id: 'b' }))).toMatchObject({ state: 'sealed', open: 1 });
});

it('fires a batch without open members at once', async () => {
  const q = await seededBatch();
  expect(await q.run(q.scripts.batches.seal({ id: 'b' }))).toBe('sealed');
  expect(await q.run(q.scripts.batches.status({ id: 'b' }))).toMatchObject({ state: 'fired' });
  expect(await q.claim(2)).toMatchObject([{ name: 'then', payload: 1 }]);
});

it('wakes a worker for the follow-ups of a batch that fires', async () => {
  const q = await seededBatch();
  await q.takeWake();
  await q.run(q.scripts.batches.seal({ id: 'b' }));
  expect(await q.takeWake()).toBe(true);
});

it('enqueues no follow-up where another one cannot go to its queue, and both after a repair', async () => {
  const q = testQueue();
  const of = { payload: '1', options: { batch: followUpRef('b') } };
  const elsewhere = { queue: 'mail', id: '@batch-of:home b:finally' };
  const followUps = [
    { ...of, kind: 'then', name: 'here' },
    { ...of, kind: 'finally', name: 'there', elsewhere },
  ] as const;
  await q.run(q.scripts.batches.create({ ...DEFINITION, followUps }));
  await q.redis.set(q.keys.batchOutbox, 'of another program');
  await expect(q.run(q.scripts.batches.seal({ id: 'b' }))).rejects.toThrow('WRONGTYPE');
  expect(await q.claim(2)).toEqual([]);
  await q.redis.del(q.keys.batchOutbox);
  await q.run(q.scripts.sweep.maintainBatches({ limit: 10, all: true }));
  expect(await q.claim(2)).toMatchObject([{ name: 'here' }]);
  expect(await q.run(q.scripts.batches.outbox({ limit: 10 }))).toMatchObject([elsewhere]);
});

it('finds no unknown batch', async () => {
  const q = testQueue();
  await expectUnchanged(q, async () => expect(await q.run(q.scripts.batches.seal({ id: 'none' }))).toBe('missing'));
});
