import { expect, it } from '@jest/globals';
import { seededBatch } from '../../support/queue/seeded-batch.js';
import { refTo } from '#queue/store/job-ref.js';

it('returns the outcomes of the members in pages, in the order in which they joined', async () => {
  const q = await seededBatch('x', 'y');
  await q.run(q.scripts.batches.join({ id: 'b', members: [refTo('other', '1')] }));
  const [x] = await q.claim(1);
  await q.run(q.scripts.complete([{ ...x!, result: '{"page":1}' }]));
  const [y] = await q.claim(1);
  await q.run(q.scripts.fail([{ ...y!, error: { name: 'Error', message: 'no' }, final: true, backoffMs: 0 }]));
  expect(await q.run(q.scripts.batches.results({ id: 'b', offset: 0, limit: 2 }))).toEqual({
    members: [
      { queue: q.name, id: 'x', status: 'completed', result: { page: 1 } },
      { queue: q.name, id: 'y', status: 'failed', error: 'no' },
    ],
    next: 2,
  });
  expect(await q.run(q.scripts.batches.results({ id: 'b', offset: 2, limit: 2 }))).toEqual({
    members: [{ queue: 'other', id: '1', status: 'open' }],
  });
});
