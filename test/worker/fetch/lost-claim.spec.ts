// A claim that Redis made, and whose reply never reached its worker.
import { expect, it } from '@jest/globals';
import { FaultProxy } from '../../support/faults/fault-proxy.js';
import { testQueue } from '../../support/queue/queue-state.js';
import { sameQueue } from '../../support/queue/core-queue.js';
import { inside } from '../../support/queue/inside.js';
import { connect } from '../../support/redis/redis.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';

it('costs the job nothing while its worker lives: the repeated claim gets the same jobs', async () => {
  const proxy = await FaultProxy.start();
  const client = connect({ retryStrategy: () => 20, maxRetriesPerRequest: null }, proxy.url);
  client.on('error', () => undefined);
  const queue = newQueue({ maxAttempts: 1 }, client);
  const producer = sameQueue(queue, { maxAttempts: 1 });
  await producer.claim(); // the server knows the script
  const { id } = await producer.enqueue({});
  const lost = proxy.loseReplyTo(`${(await inside(producer).scripts()).keys.base}batch:`);
  let runs = 0;
  const worker = await startWorker(queue, () => void runs++);
  await lost;
  await worker.event('completed', 1, { id });
  expect(runs).toBe(1);
  expect(await producer.get(id)).toMatchObject({ status: 'completed', attempts: 1, crashes: 0, interruptions: 0 });
});

it('is reported for a repeated completion whose job has expired, with that reason', async () => {
  const proxy = await FaultProxy.start();
  const client = connect({ retryStrategy: () => 20, maxRetriesPerRequest: null }, proxy.url);
  client.on('error', () => undefined);
  const queue = newQueue({}, client);
  const producer = sameQueue(queue);
  await producer.enqueue({});
  await producer.complete((await producer.claim())!); // the server knows the script
  const { id } = await producer.enqueue({}, { resultTtlMs: 1 });
  const lost = proxy.loseReplyTo(id);
  const worker = await startWorker(queue, () => 'done');
  await lost;
  await worker.event('lost', 1, { id });
  expect((await producer.stats()).totals.completed).toBe(2);
  expect(worker.warnings).toContainEqual(
    expect.stringContaining('or the job is gone (removed, or ended and forgotten)'),
  );
});

it('counts as a crash once it has expired, because the job may have started', async () => {
  const q = testQueue();
  await q.add('a', { max_attempts: 1 });
  await q.claim(1);
  await q.expireClaims('a');
  const { reclaimed } = await q.run(
    q.scripts.sweep.reclaim({ limit: 10, gapMs: Number.MAX_SAFE_INTEGER, waitMs: 0 }),
  );
  expect(reclaimed).toMatchObject([{ id: 'a', status: 'failed' }]);
  expect(await q.job('a')).toMatchObject({
    attempts: '1',
    crashes: '1',
    last_error: expect.stringMatching('claim expired'),
  });
});
