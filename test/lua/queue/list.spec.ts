import { expect, it } from '@jest/globals';
import type { JobStatus } from '#queue/model/job.js';
import {
  expectUnchanged,
  testQueue,
  type TestQueue,
  queueWith,
  claimedJob,
} from '../../support/queue/queue-state.js';

async function ids(q: TestQueue, status: JobStatus, offset = 0, limit = 50): Promise<string[]> {
  return (await q.run(q.scripts.list({ status, offset, limit }))).map((job) => job.id);
}

async function pages(q: TestQueue, status: JobStatus, limit: number): Promise<string[][]> {
  const found: string[][] = [];
  for (let page: string[]; found.length < 10; found.push(page)) {
    page = await ids(q, status, found.length * limit, limit);
    if (page.length === 0) break;
  }
  return found;
}

it.each(['pending', 'scheduled', 'processing', 'completed', 'failed', 'cancelled'] as const)(
  'of %s on an empty queue is empty, and writes nothing',
  async (status) => {
    const q = testQueue();
    expect(await expectUnchanged(q, () => ids(q, status))).toEqual([]);
  },
);

it('shows pending jobs in the order of their claims, in pages across urgent and plain', async () => {
  const q = await queueWith('p1', 'p2', 'p3', 'p4');
  for (const id of ['u1', 'u2', 'u3']) await q.add(id, { priority: 5 });
  expect(await pages(q, 'pending', 2)).toEqual([['u1', 'u2'], ['u3', 'p1'], ['p2', 'p3'], ['p4']]);
  expect(await ids(q, 'pending', 0, 1_000)).toEqual(['u1', 'u2', 'u3', 'p1', 'p2', 'p3', 'p4']);
  expect(await ids(q, 'pending', 100)).toEqual([]);
});

it('shows pending jobs of groups in pages that begin within a group', async () => {
  const q = testQueue();
  for (const id of ['a1', 'a2', 'a3', 'a4', 'a5']) await q.add(id, { group: 'a' });
  for (const id of ['b1', 'b2']) await q.add(id, { group: 'b' });
  expect(await pages(q, 'pending', 2)).toEqual([['a1', 'a2'], ['a3', 'a4'], ['a5', 'b1'], ['b2']]);
});

it('shows a job once whose id was used again and ended again', async () => {
  const q = testQueue();
  q.broken = true; // its id is in the history twice
  for (const _time of [1, 2]) {
    await q.redis.del(q.keys.job('daily'));
    await q.addAndClaim('daily').then((job) => q.complete(job));
  }
  expect(await ids(q, 'completed')).toEqual(['daily']);
});

it('shows claims of ours by expiry, then those of foreign clients', async () => {
  const q = await queueWith('a', 'b', 'c', 'f1', 'f2');
  await q.claim(3);
  await q.expireClaims('c', 'b');
  for (const id of ['f1', 'f2']) {
    await q.redis.lmove(q.keys.pending, q.keys.processing, 'RIGHT', 'LEFT');
    await q.redis.hset(q.keys.job(id), 'status', 'processing');
  }
  expect(await pages(q, 'processing', 2)).toEqual([['c', 'b'], ['a', 'f2'], ['f1']]);
});

it('shows scheduled jobs by due time', async () => {
  const q = testQueue();
  await q.add('later', { delay_ms: 90_000 });
  await q.add('sooner', { delay_ms: 60_000 });
  expect(await ids(q, 'scheduled')).toEqual(['sooner', 'later']);
  expect(await ids(q, 'scheduled', 1, 1)).toEqual(['later']);
});

it('shows ended jobs newest first', async () => {
  const q = await queueWith('c1', 'c2', 'f1', 'f2', 'x1', 'x2');
  const [c1, c2, f1, f2] = await q.claim(4);
  await q.run(q.scripts.complete([c1!, c2!].map((job) => ({ ...job, result: '1' }))));
  const error = { name: 'Error', message: 'no' };
  await q.run(q.scripts.fail([f1!, f2!].map((job) => ({ ...job, error, final: true, backoffMs: 0 }))));
  await q.redis.zadd(q.keys.dead, 1, 'f1');
  for (const id of ['x1', 'x2']) await q.run(q.scripts.cancel({ id }));
  expect(await ids(q, 'completed')).toEqual(['c2', 'c1']);
  expect(await ids(q, 'completed', 1, 1)).toEqual(['c1']);
  expect(await ids(q, 'failed')).toEqual(['f2', 'f1']);
  expect(await ids(q, 'failed', 1, 1)).toEqual(['f1']);
  expect(await ids(q, 'cancelled')).toEqual(['x2', 'x1']);
  expect(await ids(q, 'cancelled', 1, 1)).toEqual(['x1']);
});

it('skips ids whose hash is gone', async () => {
  const q = testQueue();
  await q.redis.rpush(q.keys.completed, 'gone');
  expect(await ids(q, 'completed')).toEqual([]);
});

it('I1: shows a job whose id is used again only where it is now', async () => {
  const { q, job } = await claimedJob('a');
  await q.complete(job, '1');
  await q.redis.del(q.keys.job('a'));
  await q.add('a');
  q.broken = true; // the old id leaves the history in its time
  expect(await ids(q, 'completed')).toEqual([]);
  expect(await ids(q, 'pending')).toEqual(['a']);
});

it('decodes the whole job', async () => {
  const q = testQueue();
  await q.add('a', { priority: 4, max_attempts: 7 }, '{"to":"ada"}');
  const [job] = await q.run(q.scripts.list({ status: 'pending', offset: 0, limit: 10 }));
  expect(job).toMatchObject({ id: 'a', status: 'pending', payload: { to: 'ada' }, priority: 4, maxAttempts: 7 });
  expect(job!.enqueuedAt).toBeInstanceOf(Date);
});

it('I7: broken fields of one job hide none of the page', async () => {
  const q = await queueWith('bad', 'good');
  await q.redis.hset(q.keys.job('bad'), {
    payload: '{oops',
    attempt_log: 'not json',
    log: '{"at":',
    attempts: 'x',
  });
  const [bad, good] = await q.run(q.scripts.list({ status: 'pending', offset: 0, limit: 10 }));
  expect(bad).toMatchObject({ id: 'bad', brokenPayload: '{oops', attemptLog: [], log: [] });
  expect(good!.id).toBe('good');
});

it('leaves out long payloads and the like, and says how long they are', async () => {
  const q = testQueue();
  const long = JSON.stringify({ text: 'x'.repeat(5_000) });
  await q.add('long', {}, long);
  await q.add('short', {}, '{"to":"ada"}');
  const [first, second] = await q.run(
    q.scripts.list({ status: 'pending', offset: 0, limit: 10, mostBytes: 1_000 }),
  );
  expect(first).toMatchObject({
    id: 'long',
    name: q.name,
    payload: undefined,
    leftOut: { payload: long.length },
  });
  expect(first).not.toHaveProperty('brokenPayload');
  expect(second).toMatchObject({ id: 'short', payload: { to: 'ada' } });
  expect(second).not.toHaveProperty('leftOut');
  const [job] = await q.claim(1);
  const stored = { name: 'Error', message: 'no' };
  await q.fail(job!, { error: stored, final: true });
  const query = { order: 'newest', mostBytes: 1_000 } as const;
  const { found } = await q.run(q.scripts.deadLetters.list({ ...query, looks: 100, most: 10, withJobs: true }));
  expect(found[0]!.job).toMatchObject({ lastError: 'no', leftOut: { payload: long.length } });
});
