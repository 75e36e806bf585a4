import { expect, it } from '@jest/globals';
import { queueOn, testQueue, type TestQueue, queueWith, claimedJob } from '../../support/queue/queue-state.js';

/** Adds one job to each place. */
async function fill(q: TestQueue): Promise<number> {
  await q.addAll('completed', 'dead', 'running', 'foreign');
  const [completed, dead] = await q.claim(3);
  await q.complete(completed!, '1');
  await q.fail(dead!, { final: true });
  await q.redis.lmove(q.keys.pending, q.keys.processing, 'RIGHT', 'LEFT');
  await q.addAll('cancelled');
  await q.run(q.scripts.cancel({ id: 'cancelled' }));
  await q.add('urgent', { priority: 3, unique: 'k', unique_for: 60_000 });
  await q.add('later', { delay_ms: 60_000 });
  await q.addAll('waits');
  return 8;
}

it('deletes the jobs in every state, and counts each once', async () => {
  const q = testQueue();
  const jobs = await fill(q);
  expect(await q.run(q.scripts.purge({ limit: 1_000 }))).toEqual({ deleted: jobs, more: false });
  const left = Object.keys(await q.snapshot());
  expect(left.filter((key) => !['stats', 'sequence', 'batch:worker-1:0'].includes(key))).toEqual([]);
  expect(await q.total('enqueued')).toBe(jobs);
});

it('I4: deletes a bounded slice at a time, and says whether more is left', async () => {
  const q = await queueWith('a', 'b', 'c', 'd', 'e');
  expect(await q.run(q.scripts.purge({ limit: 2 }))).toEqual({ deleted: 2, more: true });
  expect(await q.pending()).toEqual(['c', 'd', 'e']);
  expect(await q.run(q.scripts.purge({ limit: 2 }))).toEqual({ deleted: 2, more: true });
  expect(await q.run(q.scripts.purge({ limit: 2 }))).toEqual({ deleted: 1, more: false });
});

it('leaves nothing of groups, as soon as all their jobs are gone', async () => {
  const q = testQueue();
  for (const id of ['runs', 'a', 'b', 'c']) await q.add(id, { group: id === 'c' ? 'h' : 'g' });
  await q.claim(1);
  await q.redis.zadd(`${q.keys.groupsPrefix}running:h`, 1, 'gone'); // the slot of a job that is in no place
  const groupKeys = async () => Object.keys(await q.snapshot()).filter((key) => key.startsWith('groups:'));
  expect(await q.run(q.scripts.purge({ limit: 3 }))).toMatchObject({ more: true });
  expect((await groupKeys()).length).toBeGreaterThan(0);
  expect(await q.run(q.scripts.purge({ limit: 100 }))).toMatchObject({ more: false });
  expect(await groupKeys()).toEqual([]);
  await q.add('d', { group: 'g' });
  expect((await q.claim(2)).map(({ id }) => id)).toEqual(['d']);
});

it('I3: repeated on an empty queue it deletes nothing', async () => {
  const q = testQueue();
  expect(await q.run(q.scripts.purge({ limit: 100 }))).toEqual({ deleted: 0, more: false });
});

it('continues past ids whose hash is gone', async () => {
  const q = testQueue();
  await q.redis.rpush(q.keys.completed, 'gone-1', 'gone-2');
  await q.addAll('a');
  expect(await q.run(q.scripts.purge({ limit: 2 }))).toEqual({ deleted: 1, more: true });
  expect(await q.run(q.scripts.purge({ limit: 2 }))).toEqual({ deleted: 0, more: false });
});

it('I2: leaves nothing for a claim in flight to write to', async () => {
  const { q, job } = await claimedJob('a');
  await q.run(q.scripts.purge({ limit: 100 }));
  expect((await q.complete(job, '1')).lost).toEqual([0]);
  expect(await q.redis.exists(q.keys.job('a'))).toBe(0);
});

it('keeps a pause, and the fences growing', async () => {
  const q = testQueue();
  const { fence } = await q.addAndClaim('a');
  await q.run(q.scripts.pause());
  await q.run(q.scripts.purge({ limit: 100 }));
  await q.addAll('a');
  expect(await q.claim(1)).toEqual([]);
  await q.run(q.scripts.resume());
  expect((await q.claim(1))[0]!.fence).toBeGreaterThan(fence);
});

it('forgets workers and their announcements if none was seen recently', async () => {
  const q = await queueWith('a');
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true, handlers: handlersOf(q) }));
  await q.redis.zadd(q.keys.workers, (await q.now()) - 31_000, 'w1');
  await q.run(q.scripts.purge({ limit: 100 }));
  expect(Object.keys(await q.snapshot())).toEqual(['stats']);
});

it.each([
  ['its own process', 3_600_000],
  ['one with a shorter visibility timeout', 100],
])('leaves a worker that may live its limits, with an end until it says them again: by %s', async (_by, own) => {
  const q = testQueue({ visibilityMs: 3_600_000 });
  const purger = queueOn(q.redis, { visibilityMs: own }, q.name);
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true, handlers: handlersOf(q) }));
  await q.addAll('a');
  await purger.run(purger.scripts.purge({ limit: 100 }));
  const announced = [q.keys.workers, q.keys.handlerLimits, q.keys.retention];
  for (const key of announced) {
    expect(await q.redis.pttl(key)).toBeGreaterThan(3_600_000); // a claim that the worker may make now
    expect(await q.redis.pttl(key)).toBeLessThanOrEqual(2 * 3_600_000 + 300_000);
  }
  await q.addAndClaim('b');
  await q.expireClaims('b');
  const { reclaimed } = await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1e12, waitMs: 0 }));
  expect(reclaimed).toEqual([{ id: 'b', status: 'failed', worker: 'worker-1' }]); // by the handler's maxAttempts of 1
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true, handlers: handlersOf(q) }));
  expect(await Promise.all(announced.map((key) => q.redis.pttl(key)))).toEqual([-1, -1, -1]);
});

function handlersOf(q: TestQueue) {
  return [{ name: q.name, maxAttempts: 1, maxCrashes: 1 }];
}
