// A claim of ids that are longer than any. Each job gets a short id of its own, by which the claim refuses it.
import { expect, it } from '@jest/globals';
import { testQueue, type TestQueue } from '../../support/queue/queue-state.js';

const PAYLOAD = JSON.stringify('x'.repeat(100));

/** Puts a job with a long id to the front of the line, as another program may. */
async function plant(q: TestQueue, id: string): Promise<void> {
  await q.redis.hset(q.keys.job(id), {
    name: q.keys.queue,
    payload: PAYLOAD,
    status: 'pending',
    enqueued_at_ms: '1',
  });
  await q.redis.rpush(q.keys.pending, id);
}

it('gives no other job the short id of a job that was put back because the claim was full', async () => {
  const q = testQueue();
  q.broken = true;
  await plant(q, 'i'.repeat(2_000));
  await plant(q, 'first');
  expect(await q.claim(2, { mostBytes: 150 })).toHaveLength(1);
  await plant(q, 'j'.repeat(2_000));
  await q.claim(2, { mostBytes: 1_000 });
  expect(await q.redis.keys(`${q.keys.job('@oversized:')}*`)).toHaveLength(2);
});

it('sets each of several expired claims with such an id aside on its own, and none with the longest id that may be', async () => {
  const q = testQueue();
  q.broken = true;
  const longest = 'l'.repeat(1_024);
  const ids = ['i'.repeat(1_025), 'j'.repeat(2_000), longest];
  for (const id of ids) {
    await q.redis.hset(q.keys.job(id), { name: q.name, payload: '1', status: 'processing', claim_token: 't' });
    await q.redis.zadd(q.keys.claims, 1, id);
  }
  await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1e12, waitMs: 0 }));
  expect(await q.pending()).toEqual([longest]);
  const dead = await q.ranked(q.keys.dead);
  const reasons = await Promise.all(dead.map(async (id) => (await q.field(id, 'last_error'))!.slice(0, 28)));
  expect(reasons.toSorted()).toEqual(['The id of the job has 1025 b', 'The id of the job has 2000 b']);
});
