// A worker of hundreds of queues in a Cluster. test/worker/fetch/directed-wake.spec.ts shows the same of a dozen.
import { afterAll, expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { FaultProxy } from '../../support/faults/fault-proxy.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { startCluster } from '../../support/redis/own-cluster.js';
import { eventually } from '../../support/faults/wait.js';
import { startWorker } from '../../support/worker/workers.js';

const QUEUES = 300;
const MASTERS = 3;

/** The time that the start of such a worker may take, in ms. */
const START_MS = 10_000;

const open: JobQueue[] = [];

afterAll(() => open.forEach((queue) => queue.close()));

it('starts in seconds, with three connections to each master at most, and serves each queue', async () => {
  const cluster = await startCluster({ nodeTimeoutMs: 10_000 });
  const connections = async () => {
    const lists = await Promise.all(cluster.nodes.map((server) => cluster.node(server).client('LIST')));
    return String(lists.join('')).split('\n').filter(Boolean).length;
  };
  const before = await connections();
  const client = cluster.connect();
  const names = Array.from({ length: QUEUES }, () => uniqueQueueName());
  open.push(...names.map((name) => new JobQueue(client, name)));
  const begun = performance.now();
  const worker = await startWorker(
    open.map((queue) => ({ queue, handlers: { [queue.name]: () => undefined } })),
    undefined,
    { sweepIntervalMs: 5_000 },
  );
  await Promise.all(open.map((queue) => queue.enqueue({})));
  await worker.event('completed', QUEUES);
  expect(performance.now() - begun).toBeLessThan(START_MS);
  // ioredis opens more for a moment, to ask for the slots.
  await eventually(async () => (await connections()) - before <= 3 * MASTERS, { what: 'nine connections at most' });
  expect(worker.warnings).toEqual([]);
}, 120_000);

it('is served within a second, and then at once, behind a proxy that confirms channels and subscribes to none', async () => {
  const cluster = await startCluster({ nodeTimeoutMs: 10_000 });
  const proxies = await Promise.all(cluster.nodes.map(({ url }) => FaultProxy.start(url)));
  proxies.forEach((proxy) => proxy.fakeSubscriptions());
  const natMap = Object.fromEntries(
    cluster.nodes.map(({ port }, i) => [
      `127.0.0.1:${port}`,
      { host: '127.0.0.1', port: Number(new URL(proxies[i]!.url).port) },
    ]),
  );
  const client = cluster.connect({ natMap });
  const queues = Array.from({ length: 6 }, () => new JobQueue(client, uniqueQueueName()));
  open.push(...queues);
  const worker = await startWorker(queues.map((queue) => ({ queue, handlers: { [queue.name]: () => undefined } })));
  const [producer] = [new JobQueue(cluster.connect(), queues[0]!.name)];
  open.push(producer);
  const startMs = async () => {
    const begun = performance.now();
    const { id } = await producer.enqueue({});
    await worker.event('completed', 1, { id });
    return performance.now() - begun;
  };
  expect(await startMs()).toBeLessThan(2_000);
  await eventually(() => worker.worker.unheard.length === 6, { what: 'a wait for each queue', timeoutMs: 30_000 });
  expect(worker.warnings).toEqual([expect.stringContaining('Redis counts no subscriber')]);
  expect(await startMs()).toBeLessThan(500);
  proxies.forEach((proxy) => proxy.fakeSubscriptions(false));
  await eventually(() => worker.worker.unheard.length === 0, { what: 'wakes in each queue', timeoutMs: 30_000 });
  expect(await startMs()).toBeLessThan(500);
}, 120_000);
