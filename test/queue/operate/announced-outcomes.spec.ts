// A process without the option `outcomes` keeps the outcomes of a queue if its workers announce the option.
import { expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import { queueOn } from '../../support/queue/queue-state.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startWorker } from '../../support/worker/workers.js';

/** Returns a queue that a worker with these options has announced, and a handle of another process without them. */
async function served(options: QueueOptions) {
  const own = new JobQueue(connect(), uniqueQueueName(), options);
  const { worker } = await startWorker(own, () => 1, { concurrency: 1 });
  worker.pause();
  return { own, other: new JobQueue(connect(), own.name) };
}

it('writes the line of a job that it ends, and deletes that of a job that it removes', async () => {
  const { own, other } = await served({ outcomes: {} });
  await other.enqueue(1, { id: 'a' });
  await other.cancel('a');
  expect(await own.outcome('a')).toMatchObject({ status: 'cancelled' });
  await other.remove('a');
  expect(await own.outcome('a')).toBeNull();
});

it('has the bounds that the workers announce', async () => {
  const { own, other } = await served({ outcomes: { ageMs: 86_400_000 } });
  await other.enqueue(1, { id: 'a' });
  await other.cancel('a');
  const { redis, keys } = queueOn(connect(), {}, own.name);
  expect(Math.max(await redis.pttl(keys.outcomesA), await redis.pttl(keys.outcomesB))).toBeGreaterThan(86_400_000);
  expect(Math.max(await redis.pttl(keys.outcomesA), await redis.pttl(keys.outcomesB))).toBeLessThanOrEqual(
    172_800_000,
  );
});

it.each([
  ['nothing', '{}'],
  ['a broken announcement', '{"outcomes":{"cap":"many"}}'],
])('keeps none after %s', async (_, content) => {
  const { own } = await served({});
  const { redis, keys } = queueOn(connect(), {}, own.name);
  await redis.hset(keys.sweep, 'content', content);
  const other = new JobQueue(connect(), own.name);
  await other.enqueue(1, { id: 'a' });
  await other.cancel('a');
  expect(await redis.exists(keys.outcomesA, keys.outcomesB)).toBe(0);
});
