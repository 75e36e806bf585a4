import { expect, it } from '@jest/globals';
import { seededBatch } from '../../support/queue/seeded-batch.js';

it('counts the members by their outcome', async () => {
  const q = await seededBatch('x', 'y', 'z');
  const [x] = await q.claim(1);
  await q.run(q.scripts.complete([{ ...x!, result: '1' }]));
  await q.run(q.scripts.cancel({ id: 'y' }));
  const found = await q.run(q.scripts.batches.status({ id: 'b' }));
  expect(found).toMatchObject({ id: 'b', state: 'open', total: 3, open: 1, completed: 1, cancelled: 1, failed: 0 });
  expect(found).not.toHaveProperty('sealedAt');
});

it('knows nothing of an unknown batch', async () => {
  const q = await seededBatch();
  expect(await q.run(q.scripts.batches.status({ id: 'none' }))).toBeNull();
});
