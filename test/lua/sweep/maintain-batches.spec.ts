import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, queueWith, claimedJob } from '../../support/queue/queue-state.js';
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

it.each(['completed', 'failed', 'cancelled'])('notes the end of a member that has %s', async (status) => {
  const q = await seededBatch('x', 'waits');
  q.broken = true; // the job has ended without its place
  await q.redis.lrem(q.keys.pending, 0, 'x');
  await q.redis.hset(q.keys.job('x'), { status });
  await q.run(q.scripts.sweep.maintainBatches({ limit: 10, all: true }));
  expect(await q.run(q.scripts.batches.status({ id: 'b' }))).toMatchObject({ open: 1, [status]: 1 });
});

it('looks at the members of a batch a slice at a time', async () => {
  const ids = ['a', 'b', 'c', 'd', 'e'];
  const q = await seededBatch(...ids);
  await q.run(q.scripts.batches.seal({ id: 'b' }));
  await q.redis.del(...ids.map((id) => q.keys.job(id)), q.keys.pending);
  const open = [];
  for (let slices = 0; slices < 4; slices++) {
    await q.run(q.scripts.sweep.maintainBatches({ limit: 2, all: slices === 0 }));
    open.push((await q.run(q.scripts.batches.status({ id: 'b' })))!.open);
  }
  expect(open).toEqual([3, 1, 0, 0]);
});

it('deletes a batch that nobody has sealed for a week, and none before', async () => {
  const q = await seededBatch('x');
  const aged = async (ms: number) => {
    await q.redis.hset(q.keys.batchRecord('b'), 'created_at_ms', (await q.now()) - ms);
    await q.run(q.scripts.sweep.maintainBatches({ limit: 10, all: true }));
    return q.redis.exists(q.keys.batchRecord('b'), q.keys.batchRecord('b', 'open'));
  };
  const week = 7 * 86_400_000;
  expect(await aged(week - 60_000)).toBe(2);
  expect(await aged(week + 60_000)).toBe(0);
  expect(await q.ranked(q.keys.batches)).toEqual([]);
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
  const q = await queueWith('x', 'y');
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
  const { q, job } = await claimedJob('x');
  await q.add('last', { after: ['x'] });
  await q.fail(job, { final: true });
  await q.run(q.scripts.sweep.maintainBatches({ limit: 10, all: false }));
  expect(await q.status('last')).toBe('failed');
  expect(await q.ranked(q.keys.awaiting)).toEqual([]);
});

it('cancels a job that must not run, if that was asked for', async () => {
  const q = testQueue();
  const job = await q.addAndClaim('x');
  await q.add('last', { after: ['x'] });
  await q.redis.hset(q.keys.job('last'), 'cancel_requested_at_ms', 1);
  await q.fail(job, { final: true });
  await q.run(q.scripts.sweep.maintainBatches({ limit: 10, all: false }));
  expect(await q.status('last')).toBe('cancelled');
});

it('makes a dead letter of a job that waits for more jobs than an enqueue takes', async () => {
  const q = testQueue();
  await q.add('x');
  await q.add('last', { after: ['x'] });
  await q.redis.hset(q.keys.job('last'), 'after', 'x\n'.repeat(40_000));
  for (let looks = 0; looks < 2; looks++) {
    await q.redis.zadd(q.keys.awaiting, 'XX', 0, 'last');
    await q.run(q.scripts.sweep.maintainBatches({ limit: 10, all: false }));
  }
  expect(await q.field('last', 'last_error')).toContain('of a list that is too long');
});

it('gives a job that it ends a fence of its own, by which its failure job is known', async () => {
  const q = testQueue();
  const job = await q.addAndClaim('x');
  for (const id of ['one', 'two']) await q.add(id, { after: ['x'] });
  await q.fail(job, { final: true });
  await q.run(q.scripts.sweep.maintainBatches({ limit: 10, all: false }));
  const fences = [String(job.fence), await q.field('one', 'fence'), await q.field('two', 'fence')];
  expect(new Set(fences).size).toBe(3);
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
