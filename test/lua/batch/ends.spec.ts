import { expect, it } from '@jest/globals';
import { expectUnchanged } from '../../support/queue/queue-state.js';
import { seededRemoteMembers } from '../../support/queue/seeded-batch.js';

const look = (ids: string[]) => ids.map((id) => ({ batch: 'b', id }));

it('returns nothing of members that wait or run, and changes nothing', async () => {
  const q = await seededRemoteMembers('x', 'y');
  await q.claim(1);
  await expectUnchanged(q, async () => {
    expect(await q.run(q.scripts.batches.ends({ home: 'home', members: look(['x', 'y']) }))).toEqual([]);
  });
});

it('returns a member that is gone with all its traces as removed, without a number', async () => {
  const q = await seededRemoteMembers('x');
  await q.redis.del(q.keys.job('x'), q.keys.pending, q.keys.remoteMembers);
  expect(await q.run(q.scripts.batches.ends({ home: 'home', members: look(['x']) }))).toEqual([
    { queue: 'home', batch: 'b', id: 'x', number: '0', state: 'removed', detail: '' },
  ]);
});

it('returns the report of a member with its number, until it is delivered', async () => {
  const q = await seededRemoteMembers('x');
  const [job] = await q.claim(1);
  await q.complete(job!, '{"n":1}');
  const [report] = await q.run(q.scripts.batches.outbox({ limit: 10 }));
  const [end] = await q.run(q.scripts.batches.ends({ home: report!.queue, members: look(['x']) }));
  expect(end).toEqual(report);
});

it.each([
  ['completed', '{"n":1}'],
  ['failed', 'no'],
  ['cancelled', ''],
])('returns the end of a member that is %s, whose report was lost', async (status, detail) => {
  const q = await seededRemoteMembers('x');
  if (status === 'cancelled') await q.run(q.scripts.cancel({ id: 'x' }));
  const [job] = await q.claim(1);
  if (status === 'completed') await q.complete(job!, detail);
  if (status === 'failed') await q.fail(job!, { final: true });
  await q.redis.del(q.keys.batchOutbox);
  const [end] = await q.run(q.scripts.batches.ends({ home: 'home', members: look(['x']) }));
  expect(end).toMatchObject({ number: '0', state: status, detail });
});

it('leaves a key of another type to the claim of that job', async () => {
  const q = await seededRemoteMembers('x');
  q.broken = true;
  await q.redis.del(q.keys.job('x'));
  await q.redis.set(q.keys.job('x'), 'of another type');
  expect(await q.run(q.scripts.batches.ends({ home: 'home', members: look(['x']) }))).toEqual([]);
});
