// A blocking read on a master that freezes. Its socket stays open, so the worker gets no sign of the new master.
import { afterEach, expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import type { RedisClient } from '#queue/redis/redis-client.js';
import { startCluster } from '../../support/redis/own-cluster.js';
import type { OwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startSentinelSet } from '../../support/redis/sentinel-set.js';
import { eventually } from '../../support/faults/wait.js';
import { leaveBroken, newQueue, startWorker } from '../../support/worker/workers.js';

/** A wait takes one second, two more until it counts as silent, and the rest to find the new master. */
const FOUND_OUT_WITHIN_MS = 5_000;

let frozen: OwnRedis | undefined;
afterEach(() => frozen?.kill('SIGCONT'));

interface Setup {
  master: OwnRedis;
  /** For the worker, and for a producer that knows nothing of it. */
  connect: () => RedisClient;
  /** Resolves when another server has the master's place. */
  replaced: (queue: JobQueue) => Promise<void>;
}

async function sentinels(): Promise<Setup> {
  const set = await startSentinelSet();
  return { master: set.master, connect: () => set.connect(), replaced: () => set.switched() };
}

async function cluster(name: string): Promise<Setup> {
  const nodes = await startCluster({ replicas: true });
  const wake = `queue:{${name}}:wake`;
  const master = await nodes.ownerOf(wake);
  const replica = await nodes.replicaOf(master);
  const isReplaced = async () => (await nodes.node(replica).role())[0] === 'master';
  return {
    master,
    connect: () => nodes.connect(),
    replaced: async () => void (await eventually(isReplaced, { what: 'a failover' })),
  };
}

/** Resolves when a worker waits on the server for jobs. */
async function blockedOn(master: OwnRedis): Promise<void> {
  const admin = connect({}, master.url);
  const waits = async () =>
    String(await admin.client('LIST'))
      .split('\n')
      .some((line) => line.includes('cmd=bzpopmin'));
  await eventually(waits, { what: 'a worker that waits' });
  admin.disconnect();
}

it.each([
  ['a failover by Sentinel', sentinels],
  ['a failover of a Cluster', cluster],
])('%s does not leave the worker waiting where no job comes any more', async (_, setUp) => {
  const name = uniqueQueueName();
  const { master, connect: client, replaced } = await setUp(name);
  const queue = newQueue({}, client(), name);
  leaveBroken(queue); // its client may still look for the frozen one
  const worker = await startWorker(queue, () => undefined, { sweepIntervalMs: 0 });
  await queue.enqueue('before');
  await worker.event('completed');
  await blockedOn(master);
  frozen = master;
  await master.kill('SIGSTOP');
  await replaced(queue);
  const producer = newQueue({ enqueueTimeoutMs: 500 }, client(), name);
  leaveBroken(producer);
  // A client of a Cluster may be told of the new master a moment later.
  const added = () => producer.enqueue(['after'], { id: 'after' }).then(Boolean, () => false);
  await eventually(added, { what: 'an enqueue' });
  const addedAt = performance.now();
  await worker.event('started', 1, { id: 'after' });
  expect(performance.now() - addedAt).toBeLessThan(FOUND_OUT_WITHIN_MS);
});
