// Operations on all masters of a Cluster, or on one of many. These are the doctor's walks, the wait for replicas, and
// each master's replies.
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Cluster, Redis } from 'ioredis';
import { Connection } from '#queue/redis/connection.js';
import { DurabilityTimeoutError } from '#queue/enqueue/durable-batcher.js';
import { JobQueue } from '#queue/job-queue.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import { startCluster, type OwnCluster } from '../../support/redis/own-cluster.js';
import { readsAtOnce } from '../../support/redis/flowing-reads.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { inside } from '../../support/queue/inside.js';

let cluster: OwnCluster;
const open: JobQueue[] = [];

beforeAll(async () => {
  cluster = await startCluster({ replicas: true, nodeTimeoutMs: 5_000 }); // a replica is frozen for a while, not failed
}, 30_000);

afterAll(() => open.forEach((queue) => queue.close()));

describe('the doctor', () => {
  it('finds and repairs what is wrong, on whichever master the queue is', async () => {
    const queues = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => newQueue(name)); // known slots, on all three masters
    for (const queue of queues) {
      await queue.enqueueMany([
        { payload: 1, id: 'well' },
        { payload: 2, id: 'lost' },
      ]);
      const { keys } = await inside(queue).scripts();
      await inside(queue).connection.client.lrem(keys.pending, 1, 'lost');
      const orphan = { kind: 'orphan', subject: 'lost', found: 'status pending, in no place' };
      expect(await queue.doctor({ repair: true })).toMatchObject({ checked: 2, findings: [orphan] });
      expect((await queue.doctor()).findings).toEqual([]);
      expect((await queue.claim())!.id).toBe('lost');
    }
    const masters = queues.map(async (queue) => cluster.ownerOf((await inside(queue).scripts()).keys.stats));
    expect(new Set(await Promise.all(masters)).size).toBe(3);
  });
});

it('writes the audit trail in the slot of its queue, and reads it there', async () => {
  for (const name of ['a', 'b', 'c']) {
    const queue = newQueue(name, { auditTrail: {} });
    await queue.purge({ confirm: name });
    await queue.auditTrail.clear();
    await queue.enqueue(1);
    await queue.complete((await queue.claim())!);
    const entries = await queue.auditTrail.take({ group: 'g', consumer: 'a' });
    expect(entries.map(({ transition }) => transition)).toEqual(['enqueue', 'claim', 'complete']);
    expect(await queue.auditTrail.acknowledge('g', entries)).toBe(3);
  }
});

describe("durability: 'replica'", () => {
  it('waits for the replica of the master that has the queue, and says honestly when it does not answer', async () => {
    const queue = newQueue(uniqueQueueName(), { durability: 'replica', durabilityTimeoutMs: 3_000 });
    expect((await queue.enqueue(1)).outcome).toBe('new');
    const { keys } = await inside(queue).scripts();
    const replica = await cluster.replicaOf(await cluster.ownerOf(keys.stats));
    expect(Number(await cluster.node(replica).call('CLUSTER', 'COUNTKEYSINSLOT', await slotOf(keys.stats)))).toBe(
      4,
    );
    await replica.kill('SIGSTOP');
    const hasty = newQueue(queue.name, { durability: 'replica', durabilityTimeoutMs: 50 });
    const error = await hasty.enqueue(2).catch((thrown: unknown) => thrown);
    await replica.kill('SIGCONT');
    expect(error).toBeInstanceOf(DurabilityTimeoutError);
    expect(error).toMatchObject({ acknowledged: 0 });
    expect((await queue.enqueue(3)).outcome).toBe('new');
    expect(await queue.stats()).toMatchObject({ pending: 3 });
  });
});

describe('an answer of whichever node', () => {
  it.each([
    ['is connected', true],
    ['connects later', false],
  ])('is read as soon as it is there, by a client that %s', async (_, isConnected) => {
    const client = cluster.connect();
    if (isConnected) await Promise.all((await nodesOf(client)).map((node) => node.ping()));
    Connection.of(client);
    for (const node of await nodesOf(client)) {
      await node.ping();
      expect(await readsAtOnce(node)).toBe(true);
    }
  });

  it('is so over a connection that takes the place of another', async () => {
    const client = cluster.connect();
    Connection.of(client);
    const [node] = await nodesOf(client);
    const left = once(client, '-node');
    node!.disconnect();
    await left;
    client.refreshSlotsCache();
    const [anew] = (await once(client, '+node')) as [Redis];
    await anew.ping();
    expect(await readsAtOnce(anew)).toBe(true);
  });
});

/** Returns the masters, once the client knows them. */
async function nodesOf(client: Cluster): Promise<Redis[]> {
  await client.ping();
  return client.nodes('master');
}

function newQueue(name: string, options: QueueOptions = {}): JobQueue {
  const queue = new JobQueue(cluster.connect(), name, options);
  open.push(queue);
  return queue;
}

function slotOf(key: string): Promise<number> {
  return cluster.node(cluster.nodes[0]!).cluster('KEYSLOT', key);
}
