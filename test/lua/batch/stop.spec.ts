import { expect, it } from '@jest/globals';
import { expectUnchanged } from '../../support/queue/queue-state.js';
import { seededBatch } from '../../support/queue/seeded-batch.js';

it('marks a batch as stopped, and has the next sweep look at it', async () => {
  const q = await seededBatch('x');
  expect(await q.run(q.scripts.batches.stop({ id: 'b' }))).toBe('stopped');
  expect(await q.run(q.scripts.batches.status({ id: 'b' }))).toMatchObject({ stopped: true, open: 1 });
  expect(await q.redis.zscore(q.keys.batches, 'b')).toBe('0');
});

it('does nothing to a batch that has fired, or is unknown', async () => {
  const q = await seededBatch();
  await q.run(q.scripts.batches.seal({ id: 'b' }));
  await expectUnchanged(q, async () => {
    expect(await q.run(q.scripts.batches.stop({ id: 'b' }))).toBe('fired');
    expect(await q.run(q.scripts.batches.stop({ id: 'none' }))).toBe('missing');
  });
});
