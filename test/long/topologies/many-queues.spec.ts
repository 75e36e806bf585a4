// A worker of hundreds of queues in a Cluster. test/worker/fetch/directed-wake.spec.ts shows the same of a dozen.
import { afterAll, expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { inside } from '../../support/queue/inside.js';
import { FaultProxy } from '../../support/faults/fault-proxy.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { startCluster, type OwnCluster } from '../../support/redis/own-cluster.js';
import { eventually } from '../../support/faults/wait.js';
import { startWorker } from '../../support/worker/workers.js';

const QUEUES = 300;
const MASTERS = 3;

/** The time that the start of such a worker may take, in ms. */
const START_MS = 10_000;

/** The number of new clients that each await one result. */
const FRESH_CLIENTS = 20;

/** The time after the end of a job in which 95 % of the clients have its result, in ms. */
const RESULT_MS = 100;

/** The time in which a new client listens to its queue, in ms. */
const LONGEST_SUBSCRIBING_MS = 1_500;

const open: JobQueue[] = [];

afterAll(() => open.forEach((queue) => queue.close()));

it('starts in seconds, with three connections to each master at most, and serves each queue', async () => {
  const cluster = await startCluster({ nodeTimeoutMs: 10_000 });
  const before = await connectionsOf(cluster);
  const client = cluster.connect();
  const errors: string[] = [];
  client.on('error', ({ message }: Error) => errors.push(message)); // such as "Failed to refresh slots cache."
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
  const few = async () => (await connectionsOf(cluster)) - before <= 3 * MASTERS;
  await eventually(few, { what: 'nine connections at most' });

  const ended: string[] = [];
  const ends = await Promise.all(
    open.map(async (queue) => queue.store.subscribe(await queue.calls(), ({ id }) => ended.push(id))),
  );
  await eventually(few, { what: 'nine connections at most, with events' });
  await Promise.all(open.map((queue) => queue.enqueue({})));
  await eventually(() => new Set(ended).size === QUEUES, { what: 'an event of each queue' });
  expect(await few()).toBe(true);
  expect(worker.warnings).toEqual([]);
  expect(errors).toEqual([]);
  ends.forEach((end) => end());
}, 120_000);

it('wakes a worker of thousands of idle queues as soon as one of a few', async () => {
  const cluster = await startCluster({ nodeTimeoutMs: 15_000 });
  const client = cluster.connect();
  const queues = Array.from({ length: 5_000 }, () => new JobQueue(client, uniqueQueueName()));
  open.push(...queues);
  const worker = await startWorker(queues.map((queue) => ({ queue, handlers: { [queue.name]: () => undefined } })));
  const fed = queues.slice(0, 20);
  const registered = async (queue: JobQueue) =>
    (await client.zcard((await inside(queue).scripts()).keys.waiters)) > 0;
  for (const queue of fed) {
    await eventually(() => registered(queue), { timeoutMs: 60_000, what: `a waiter of ${queue.name}` });
  }
  const latencies: number[] = [];
  for (const [i, queue] of fed.entries()) {
    const begun = performance.now();
    await queue.enqueue({});
    await worker.event('completed', i + 1);
    latencies.push(performance.now() - begun);
  }
  expect(latencies.toSorted((a, b) => a - b)[18]).toBeLessThan(1_000);
}, 180_000);

it('sends the result of a job at its end to clients that have just started', async () => {
  const cluster = await startCluster({ nodeTimeoutMs: 10_000 });
  const served = Array.from({ length: FRESH_CLIENTS }, () => new JobQueue(cluster.connect(), uniqueQueueName()));
  const waits: number[] = [];
  for (const consumer of served) {
    const queue = new JobQueue(cluster.connect(), consumer.name);
    open.push(queue, consumer);
    const handle = await queue.enqueue({});
    const result = handle.result();
    const job = (await consumer.claim())!;
    const channel = (await inside(queue).scripts()).keys.events;
    const master = cluster.node(await cluster.ownerOf(channel));
    const begun = performance.now();
    await eventually(async () => Number((await master.pubsub('NUMSUB', channel))[1]) > 0);
    expect(performance.now() - begun).toBeLessThan(LONGEST_SUBSCRIBING_MS);
    const endedAt = performance.now();
    await consumer.complete(job, 1);
    await result;
    waits.push(performance.now() - endedAt);
  }
  const late = waits.filter((ms) => ms > RESULT_MS);
  expect(late.length).toBeLessThanOrEqual(FRESH_CLIENTS / 20);
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

async function connectionsOf(cluster: OwnCluster): Promise<number> {
  const lists = await Promise.all(cluster.nodes.map((server) => cluster.node(server).client('LIST')));
  return String(lists.join('')).split('\n').filter(Boolean).length;
}
