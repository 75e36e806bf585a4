import { expect, it } from '@jest/globals';
import { seededRemoteMembers } from '../../support/queue/seeded-batch.js';

it('returns the ends of members of batches in other queues', async () => {
  const q = await seededRemoteMembers('x', 'y');
  const [x] = await q.claim(1);
  await q.run(q.scripts.complete([{ ...x!, result: '1' }]));
  expect(await q.run(q.scripts.batches.outbox({ limit: 10 }))).toEqual([
    { queue: 'home', batch: 'b', id: 'x', number: expect.stringMatching(/^\d+$/), state: 'completed', detail: '1' },
  ]);
  await q.run(q.scripts.cancel({ id: 'y' }));
  expect(await q.run(q.scripts.batches.outbox({ limit: 1 }))).toHaveLength(1);
  expect(await q.run(q.scripts.batches.outbox({ limit: 10 }))).toHaveLength(2);
});
