import { expect, it } from '@jest/globals';
import { DEFINITION, seededBatch } from '../../support/queue/seeded-batch.js';

it('lists batches that have not ended, at most as many as it was asked for', async () => {
  const q = await seededBatch('x');
  const { batches } = q.scripts;
  await q.run(batches.create({ ...DEFINITION, id: 'c', followUps: [] }));
  await q.run(batches.create({ ...DEFINITION, id: 'ended', followUps: [] }));
  await q.run(batches.seal('ended'));
  const found = await q.run(batches.list(10));
  expect(Object.fromEntries(found.map(({ id, open }) => [id, open]))).toEqual({ b: 1, c: 0 });
  expect(await q.run(batches.list(1))).toHaveLength(1);
});
