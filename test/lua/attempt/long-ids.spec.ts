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
