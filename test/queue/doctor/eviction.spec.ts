// What a server with `volatile-lru` deletes: only keys with a lifetime. No job that waits or runs is lost, and none runs twice.
import { expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { inside } from '../../support/queue/inside.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startWorker } from '../../support/worker/workers.js';

const JOBS = 6_000;

it('runs each job once while volatile-lru deletes results', async () => {
  const server = await startOwnRedis();
  const redis = connect({}, server.url);
  await redis.config('SET', 'maxmemory-policy', 'volatile-lru');
  const queue = new JobQueue(redis, 'load', { completedHistory: 10_000 });
  const runs = new Map<string, number>();
  const handle = ({ id }: { id: string }) => {
    runs.set(id, (runs.get(id) ?? 0) + 1);
    return 'x'.repeat(1_000);
  };
  const used = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))![1]);
  await redis.config('SET', 'maxmemory', String(used + 5_000_000));
  await queue.enqueue({}, { id: 'later', delayMs: 3_600_000, unique: { key: 'later', for: 'unfinished' } });
  const worker = await startWorker([{ queue, concurrency: 50, handlers: { load: handle } }]);
  for (let done = 0; done < JOBS; done += 500) {
    await queue.enqueueMany(Array.from({ length: 500 }, (_, i) => ({ payload: { i: done + i } })));
    await worker.event('completed', done + 500, { timeoutMs: 30_000 });
  }
  expect(Number(/evicted_keys:(\d+)/.exec(await redis.info('stats'))![1])).toBeGreaterThan(100);
  expect(runs.size).toBe(JOBS);
  expect([...runs.values()].filter((count) => count !== 1)).toEqual([]);
  expect(await queue.stats()).toMatchObject({ pending: 0, scheduled: 1, processing: 0, failed: 0 });
  expect(await queue.get('later')).toMatchObject({ status: 'scheduled' });
}, 60_000);

it('knows the id of an ended job after all keys with a lifetime are gone', async () => {
  const server = await startOwnRedis();
  const redis = connect({}, server.url);
  const queue = new JobQueue(redis, 'ids');
  await queue.enqueue({}, { id: 'once' });
  await queue.complete((await queue.claim())!);
  const keys = await redis.keys('*');
  const lifetimes = await Promise.all(keys.map((key) => redis.pttl(key)));
  const volatile = keys.filter((_, i) => lifetimes[i]! >= 0);
  expect(volatile).toContain('queue:ids:job:once');
  await redis.unlink(...volatile);
  await queue.enqueue({}, { id: 'once' });
  expect(await queue.stats()).toMatchObject({ pending: 0, totals: { enqueued: 1 } });
});

it('ends the lifetime that an earlier version gave to the ids', async () => {
  const queue = new JobQueue(connect(), uniqueQueueName());
  const { keys } = await inside(queue).scripts();
  await connect().zadd(keys.endedIds, Date.now() + 1_000, 'earlier');
  await connect().pexpire(keys.endedIds, 1_000);
  await queue.enqueue({}, { id: 'later' });
  await queue.complete((await queue.claim())!);
  expect(await connect().pttl(keys.endedIds)).toBe(-1);
});
