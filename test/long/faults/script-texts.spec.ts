// A process sends a server the text of each script once, or once on each of its two connections. The server knows none
// after a flush of its scripts, and after a failover.
import { createHash } from 'node:crypto';
import { expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { luaScripts } from '#queue/lua.generated.js';
import { JobQueue } from '#queue/job-queue.js';
import { silentLogger } from '#queue/runtime/logger.js';
import { Sweeper } from '#worker/maintenance/sweeper.js';
import { FaultProxy } from '../../support/faults/fault-proxy.js';
import { eventually } from '../../support/faults/wait.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startReplicatedRedis } from '../../support/redis/replicated-redis.js';
import { startWorker } from '../../support/worker/workers.js';

const QUEUES = 100;

/** Starts a process that works in many queues behind a proxy, which counts the bytes of texts. */
async function startProcess(url: string) {
  const proxy = await FaultProxy.start(url);
  const redis = connect({ retryStrategy: () => 50 }, proxy.url);
  redis.on('error', () => undefined); // it is cut off
  const queues = Array.from({ length: QUEUES }, () => new JobQueue(redis, uniqueQueueName()));
  const worker = await startWorker(queues.map((queue) => ({ queue, handlers: { [queue.name]: () => undefined } })));
  const sweeper = new Sweeper(queues, 60_000, silentLogger);
  let jobs = 0;
  /** Does the same in each queue: a job, figures, and maintenance. Returns the bytes of the texts that it sent. */
  const work = async () => {
    const before = proxy.texts;
    jobs += QUEUES;
    await Promise.all(queues.flatMap((queue) => [queue.enqueue({}), queue.stats()]));
    await worker.event('completed', jobs);
    await sweeper.runOnce();
    return proxy.texts - before;
  };
  return { proxy, queues, work };
}

/** Returns the bytes of all scripts that a server knows. */
async function textsOf(server: Redis): Promise<number> {
  const texts = Object.values(luaScripts);
  const digests = texts.map((text) => createHash('sha1').update(text).digest('hex'));
  const known = (await server.script('EXISTS', ...digests)) as number[];
  return texts.reduce((sum, text, i) => sum + (known[i] === 1 ? Buffer.byteLength(text) : 0), 0);
}

it('a process sends each text twice at most after SCRIPT FLUSH and after a failover, whatever the number of its queues', async () => {
  const { master, replica, redis } = await startReplicatedRedis();
  const { proxy, queues, work } = await startProcess(master.url);
  await eventually(async () => (await work()) === 0); // some scripts run by time, or only where a wake is passed on

  await redis.script('FLUSH');
  const sentAfterFlush = await work();
  const flushed = await textsOf(redis);
  expect(sentAfterFlush).toBeGreaterThanOrEqual(flushed);
  expect(sentAfterFlush).toBeLessThanOrEqual(2 * flushed);

  const next = connect({}, replica.url);
  await eventually(async () => (await textsOf(next)) === 0);
  await next.replicaof('NO', 'ONE');
  proxy.retarget(replica.url);
  proxy.cut();
  const sentAfterFailover = await work();
  const taught = await textsOf(next);
  expect(sentAfterFailover).toBeGreaterThanOrEqual(taught);
  expect(sentAfterFailover).toBeLessThanOrEqual(2 * taught);
  queues.forEach((queue) => queue.close());
}, 120_000);
