// Two versions of the library on one queue, as in a rolling deployment, while the server forgets its scripts.
import { createHash } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { luaScripts } from '#queue/lua.generated.js';
import type { JobQueue } from '#queue/job-queue.js';
import { earlierDigest, earlierVersion } from '../../support/queue/earlier-version.js';
import { Traffic } from '../../support/faults/traffic.js';
import { connect } from '../../support/redis/redis.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { inside } from '../../support/queue/inside.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';
import { WorkerProcess } from '../../support/worker/worker-process.js';
import { sleep } from '../../support/faults/wait.js';

it('two versions of the scripts work on one queue, and SCRIPT FLUSH costs neither a job', async () => {
  const server = await startOwnRedis();
  const observer = connect({}, server.url);
  const queue = newQueue({}, connect({}, server.url));
  const worker = await startWorker(queue, undefined, { perQueue: 2 });
  const other = await WorkerProcess.start({
    queue: queue.name,
    workMs: 1,
    redisUrl: server.url,
    earlier: true,
  });
  const traffic = new Traffic(newQueue({}, connect({}, server.url), queue.name));
  for (let flushes = 0; flushes < 5; flushes++) {
    await traffic.more(20);
    await observer.script('FLUSH');
  }
  await traffic.more(20);
  const digest = createHash('sha1').update(luaScripts.attemptClaim).digest('hex');
  expect(await observer.script('EXISTS', digest, await earlierDigest('attemptClaim'))).toEqual([1, 1]);
  await other.event('completed'); // both were at work
  await worker.event('completed');
  await traffic.settle(observer);
  expect((await queue.stats()).totals.completed).toBe(traffic.acknowledged.length);
  await other.signal('SIGTERM');
}, 60_000);

it('workers of two versions share a queue, and each reclaims jobs of the other', async () => {
  const server = await startOwnRedis();
  const observer = connect({}, server.url);
  const options = { visibilityMs: 1_000, maxAttempts: 10, maxCrashes: 10 };
  const queue = newQueue(options, connect({}, server.url));
  const earlier = {
    queue: queue.name,
    queueOptions: options,
    workerOptions: { sweepIntervalMs: 200 },
    workMs: 5,
    redisUrl: server.url,
    earlier: true,
  };
  const kinds = [{}, { delayMs: 50 }, { priority: 3 }, { maxAttempts: 4 }];
  const traffic = new Traffic(newQueue(options, connect({}, server.url), queue.name), {
    enqueueOptions: (i) => kinds[i % kinds.length]!,
  });
  const worker = await startWorker(queue, () => sleep(5), {
    perQueue: 2,
    sweepIntervalMs: 200,
  });
  const killed = await WorkerProcess.start({ ...earlier, workMs: 400 });
  await traffic.more(30);
  await killed.event('started');
  await worker.event('completed', 10);
  await killed.signal('SIGKILL'); // what it had claimed is reclaimed by the one of now
  const other = await WorkerProcess.start(earlier);
  await traffic.more(50);
  await other.event('completed');
  await worker.worker.stop();
  const deserted = (await queue.claim({ timeoutMs: 5_000 }))!; // what is left here is reclaimed by the earlier one
  const { crashes } = (await queue.get(deserted.id))!; // it may be one of those that the other took back
  await traffic.more(10);
  await traffic.settle(observer, 20_000);
  expect(await queue.get(deserted.id)).toMatchObject({ status: 'completed', crashes: crashes + 1 });
  expect((await queue.stats()).totals).toMatchObject({ completed: traffic.acknowledged.length });
  expect((await queue.doctor()).findings).toEqual([]);
  await other.signal('SIGTERM');
}, 60_000);

it('heeds the expiry, the unique key, the cost and the batch of grouped jobs that an earlier version enqueued', async () => {
  const server = await startOwnRedis();
  const observer = connect({}, server.url);
  const queue = newQueue({}, observer);
  await queue.limits.set({ groups: { maxRunning: 1 } });
  const earlier = (await import(`${earlierVersion()}core.js`)) as { JobQueue: typeof JobQueue };
  const producer = new earlier.JobQueue(connect({}, server.url), queue.name, {});
  const batch = producer.batch();
  await batch.add('member', {}, { group: 'batch' });
  await batch.seal();
  await producer.enqueue({}, { group: 'expired', expiresInMs: 1 });
  const unique = { key: 'k', for: 'unfinished' } as const;
  const first = await producer.enqueue({}, { group: 'unique', unique });
  await producer.enqueue({}, { group: 'costly', cost: 5 });
  await sleep(10);
  const jobs = await queue.claimMany(10);
  const groupsPrefix = (await inside(queue).scripts()).keys.groupsPrefix;
  expect(await observer.hget(`${groupsPrefix}ends`, 'costly')).toBe('5');
  for (const job of jobs) await queue.complete(job);
  expect((await queue.stats()).totals).toMatchObject({ completed: 3, failed: 1 });
  expect((await producer.enqueue({}, { group: 'unique', unique })).id).not.toBe(first.id);
  expect(await queue.findBatch(batch.id).status()).toMatchObject({ open: 0, completed: 1 });
}, 60_000);
