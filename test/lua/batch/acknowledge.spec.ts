import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue } from '../../support/queue/queue-state.js';
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

it('keeps the later end for a job in another queue, where an id was used again', async () => {
  const q = testQueue();
  const cancelled = async () => {
    await q.addAll('x');
    await q.run(q.scripts.batches.depend({ home: 'home', pairs: [{ id: 'x', waiting: 'w' }] }));
    await q.run(q.scripts.cancel({ id: 'x' }));
    return q.run(q.scripts.batches.outbox({ limit: 10 }));
  };
  const ends = await cancelled();
  expect(await q.run(q.scripts.batches.acknowledge({ ends }))).toBe(1);
  await q.run(q.scripts.remove({ id: 'x' }));
  expect(await cancelled()).toMatchObject([{ queue: 'home', state: 'cancelled' }]);
  expect(await q.run(q.scripts.batches.acknowledge({ ends }))).toBe(0);
});

it('keeps that a member in another queue is open again, where its end before is acknowledged', async () => {
  const q = await seededRemoteMembers('x');
  await q.fail((await q.claim(1))[0]!, { final: true });
  const ends = await q.run(q.scripts.batches.outbox({ limit: 10 }));
  await q.run(q.scripts.deadLetters.redrive({ ids: ['x'], payload: '' }));
  expect(await q.run(q.scripts.batches.acknowledge({ ends }))).toBe(0);
  expect(await q.run(q.scripts.batches.outbox({ limit: 10 }))).toMatchObject([{ id: 'x', state: 'open' }]);
});
