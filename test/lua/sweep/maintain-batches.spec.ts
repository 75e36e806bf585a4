import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue } from '../../support/queue/queue-state.js';
import { seededBatch, seededRemoteMembers } from '../../support/queue/seeded-batch.js';

it('does nothing in a queue without batches', async () => {
  const q = testQueue();
  await q.add('x');
  await expectUnchanged(q, async () =>
    expect(await q.run(q.scripts.sweep.maintainBatches({ limit: 10, all: true }))).toBeUndefined(),
  );
});

it('ends a member that has vanished', async () => {
  const q = await seededBatch('x');
  await q.redis.del(q.keys.job('x'), q.keys.pending);
  expect(await q.run(q.scripts.sweep.maintainBatches({ limit: 10, all: true }))).toMatchObject({
    more: false,
    hasEnds: false,
  });
  expect(await q.run(q.scripts.batches.status({ id: 'b' }))).toMatchObject({ open: 0, removed: 1 });
});

it('cancels the members of a stopped batch, and names those in other queues', async () => {
  const q = await seededBatch('x');
  await q.run(q.scripts.batches.join({ id: 'b', members: ['other\t1'] }));
  await q.run(q.scripts.batches.stop({ id: 'b' }));
  const answer = await q.run(q.scripts.sweep.maintainBatches({ limit: 10, all: false }));
  expect(answer?.elsewhere).toEqual([{ batch: expect.any(String), queue: 'other', id: '1', isStopped: true }]);
  expect(await q.status('x')).toBe('cancelled');
});

it('says that ends wait to be delivered', async () => {
  const q = await seededRemoteMembers('x');
  await q.run(q.scripts.cancel({ id: 'x' }));
  expect(await q.run(q.scripts.sweep.maintainBatches({ limit: 10, all: false }))).toMatchObject({ hasEnds: true });
});

it('starts a job that waits for two others whose ends were not delivered', async () => {
  const q = testQueue();
  await q.addAll('x', 'y');
  await q.add('last', { after: ['x', 'y'] });
  for (const id of ['x', 'y']) await q.redis.hset(q.keys.job(id), 'status', 'completed');
  q.broken = true;
  await q.redis.del(q.keys.pending);
  await q.run(q.scripts.sweep.maintainBatches({ limit: 10, all: true }));
  expect(await q.field('last', 'after')).toBeNull();
  expect(Number(await q.redis.zscore(q.keys.scheduled, 'last'))).toBeLessThanOrEqual(await q.now());
});

it('looks again at a job that waits a second later at the earliest, and later the longer it waits', async () => {
  const q = testQueue();
  await q.add('x');
  await q.add('last', { after: ['x'] });
  const nextLook = async () => {
    await q.run(q.scripts.sweep.maintainBatches({ limit: 10, all: false }));
    return Number(await q.redis.zscore(q.keys.awaiting, 'last')) - (await q.now());
  };
  expect(await nextLook()).toBeGreaterThan(500);
  await q.redis.hset(q.keys.job('last'), 'enqueued_at_ms', (await q.now()) - 60_000);
  await q.redis.zadd(q.keys.awaiting, 'XX', 0, 'last');
  expect(await nextLook()).toBeGreaterThan(14_000);
});

it('looks no more at a job that it has ended, because the one before it failed', async () => {
  const q = testQueue();
  const job = await q.addAndClaim('x');
  await q.add('last', { after: ['x'] });
  await q.fail(job, { final: true });
  await q.run(q.scripts.sweep.maintainBatches({ limit: 10, all: false }));
  expect(await q.status('last')).toBe('failed');
  expect(await q.ranked(q.keys.awaiting)).toEqual([]);
});

it('finds the end of a job in a batch of another queue that was not noted, and no end of one that waits', async () => {
  const q = await seededRemoteMembers('x');
  expect(await q.run(q.scripts.sweep.maintainBatches({ limit: 10, all: true }))).not.toMatchObject({
    hasEnds: true,
  });
  q.broken = true;
  await q.redis.hset(q.keys.job('x'), 'status', 'completed');
  await q.redis.del(q.keys.pending);
  expect(await q.run(q.scripts.sweep.maintainBatches({ limit: 10, all: true }))).toMatchObject({ hasEnds: true });
});
