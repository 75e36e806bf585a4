import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue } from '../../support/queue/queue-state.js';
import { seededBatch } from '../../support/queue/seeded-batch.js';

it('seals a batch whose members are open, without firing it', async () => {
  const q = await seededBatch('x');
  expect(await q.run(q.scripts.batches.seal('b'))).toBe('sealed');
  expect(await q.run(q.scripts.batches.status('b'))).toMatchObject({ state: 'sealed', open: 1 });
});

it('fires a batch without open members at once', async () => {
  const q = await seededBatch();
  expect(await q.run(q.scripts.batches.seal('b'))).toBe('sealed');
  expect(await q.run(q.scripts.batches.status('b'))).toMatchObject({ state: 'fired' });
  expect(await q.claim(2)).toMatchObject([{ name: 'then', payload: 1 }]);
});

it('wakes a worker for the follow-ups of a batch that fires', async () => {
  const q = await seededBatch();
  await q.takeWake();
  await q.run(q.scripts.batches.seal('b'));
  expect(await q.takeWake()).toBe(true);
});

it('finds no unknown batch', async () => {
  const q = testQueue();
  await expectUnchanged(q, async () => expect(await q.run(q.scripts.batches.seal('none'))).toBe('missing'));
});
