// A link of little bandwidth under Sentinel and in a Cluster. No connection is replaced while bytes move, as with one
// server.
import { expect, it } from '@jest/globals';
import type { Cluster, Redis } from 'ioredis';
import { JobQueue } from '#queue/job-queue.js';
import { FaultProxy } from '../../support/faults/fault-proxy.js';
import { startCluster } from '../../support/redis/own-cluster.js';
import type { OwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startSentinelSet } from '../../support/redis/sentinel-set.js';
import { startWorker } from '../../support/worker/workers.js';

const LONG_MS = 90_000;
const BANDWIDTH = 64 * 1_024;
const COUNT = 5;
const BYTES = 100_000;

/** Starts a proxy before each server, and returns the client's options to use them. */
async function proxiesOf(servers: readonly OwnRedis[]) {
  const proxies = await Promise.all(servers.map(({ url }) => FaultProxy.start(url)));
  const natMap = Object.fromEntries(
    servers.map(({ port }, i) => [
      `127.0.0.1:${port}`,
      { host: '127.0.0.1', port: Number(new URL(proxies[i]!.url).port) },
    ]),
  );
  return { proxies, natMap };
}

/** Works off large jobs, with visibility timeouts that are shorter than what they take to arrive, and large results. */
async function workThrough(slow: Redis | Cluster, fast: Redis | Cluster, proxies: readonly FaultProxy[]) {
  const options = { visibilityMs: 2_000 };
  const name = uniqueQueueName();
  const queue = new JobQueue(slow, name, options);
  const other = new JobQueue(fast, name, options);
  const worker = await startWorker([{ queue, handlers: { [name]: () => 'y'.repeat(20_000) } }]);
  await other.enqueue('first');
  await worker.event('completed');
  const made = () => proxies.reduce((sum, { connections }) => sum + connections.made, 0);
  const before = made();
  proxies.forEach((proxy) => proxy.limitBandwidth(BANDWIDTH));
  const begun = performance.now();
  const sweeping = setInterval(() => void other.reclaim(), 200);
  await queue.enqueue({ text: 'x'.repeat(BYTES) }); // over the slow link
  const more = Array.from({ length: COUNT - 1 }, () => ({ payload: { text: 'x'.repeat(BYTES) } }));
  await other.enqueueMany(more);
  await worker.event('completed', 1 + COUNT, { timeoutMs: LONG_MS }).finally(() => clearInterval(sweeping));
  expect(performance.now() - begun).toBeLessThan(50_000);
  expect(made()).toBe(before);
  expect(worker.warnings).toEqual([]);
  expect(worker.count('started')).toBe(1 + COUNT);
  expect((await other.stats()).totals.reclaimed ?? 0).toBe(0);
  expect(proxies.reduce((sum, { passed }) => sum + passed.down, 0)).toBeLessThan(1.3 * COUNT * BYTES + 50_000);
  await worker.worker.stop();
  queue.close();
  other.close();
}

it(
  'a worker under Sentinel fetches large payloads once',
  async () => {
    const set = await startSentinelSet({ downAfterMs: 5_000 });
    const { proxies, natMap } = await proxiesOf([set.master]);
    await workThrough(set.connect({ natMap }), connect({}, set.master.url), proxies);
  },
  LONG_MS,
);

it(
  'a worker in a Cluster fetches large payloads once',
  async () => {
    const cluster = await startCluster({ nodeTimeoutMs: 5_000 });
    const { proxies, natMap } = await proxiesOf(cluster.nodes);
    await workThrough(cluster.connect({ natMap }), cluster.connect(), proxies);
  },
  LONG_MS,
);
