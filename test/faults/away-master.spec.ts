// A Cluster of which one master is away and not replaced: what is on the others goes on, also in the same worker.
import { beforeAll, expect, it } from '@jest/globals';
import { heardBy, replaceSilent } from '../../src/queue/stuck-cluster.js';
import type { OwnRedis } from '../support/own-redis.js';
import { startCluster, type OwnCluster } from '../support/own-cluster.js';
import { uniqueQueueName } from '../support/redis.js';

let cluster: OwnCluster;

beforeAll(async () => {
  cluster = await startCluster({ nodeTimeoutMs: 600_000 }); // who is frozen is not failed
}, 30_000);

it('has what that connection owed fail, and not sent again by ioredis: a worker does so itself, in its order', async () => {
  const client = cluster.connect();
  const key = `{${await queueOn(0)}}`;
  await client.incr(key);
  await freeze(cluster.nodes[0]!, async () => {
    const owed = client.incr(key);
    replaceSilent(client, heardBy(client));
    await expect(owed).rejects.toThrow('gave no answer, and is replaced');
  });
  expect(await client.incr(key)).toBe(3);
});

/** The name of a queue that a master serves. */
async function queueOn(master: number): Promise<string> {
  for (;;) {
    const name = uniqueQueueName();
    if ((await cluster.ownerOf(`{${name}}`)) === cluster.nodes[master]) return name;
  }
}

async function freeze(master: OwnRedis, meanwhile: () => Promise<void>): Promise<void> {
  await master.kill('SIGSTOP');
  try {
    await meanwhile();
  } finally {
    await master.kill('SIGCONT');
  }
}
