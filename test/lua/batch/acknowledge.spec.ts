import { expect, it } from '@jest/globals';
import { expectUnchanged } from '../../support/queue/queue-state.js';
import { seededRemoteMembers } from '../../support/queue/seeded-batch.js';

it('removes delivered ends, and keeps later ones of the same job', async () => {
  const q = await seededRemoteMembers('x');
  await q.run(q.scripts.cancel({ id: 'x' }));
  const ends = await q.run(q.scripts.batches.outbox({ limit: 10 }));
  const older = ends.map((each) => ({ ...each, number: '0' }));
  await expectUnchanged(q, async () => expect(await q.run(q.scripts.batches.acknowledge({ ends: older }))).toBe(0));
  expect(await q.run(q.scripts.batches.acknowledge({ ends }))).toBe(1);
  expect(await q.run(q.scripts.batches.outbox({ limit: 10 }))).toEqual([]);
  await expectUnchanged(q, async () => expect(await q.run(q.scripts.batches.acknowledge({ ends }))).toBe(0));
});
