// Operations on all masters of a Cluster, or on one of many. These are the doctor's walks, the wait for replicas, and
// each master's replies.
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Cluster, Redis } from 'ioredis';
import { Connection } from '#queue/redis/connection.js';
import { DurabilityTimeoutError } from '#queue/enqueue/enqueue-batcher.js';
import { JobQueue } from '#queue/job-queue.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import type { RedisStore } from '#queue/redis-store.js';
import type { StoreCalls } from '#queue/store/store-calls.js';
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

it('the doctor finds and repairs faults, whichever master has the queue', async () => {
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

describe('a call for many queues', () => {
  const LIMIT = { timeoutMs: 5_000 };
  const HANDLERS = [{ name: 'mail', maxAttempts: 5, maxCrashes: 3 }];

  /** Returns verbs and queues that the first of two workers serves. Each fifth has a job. */
  async function served() {
    const client = cluster.connect();
    const queues = Array.from({ length: 20 }, () => new JobQueue(client, uniqueQueueName()));
    open.push(...queues);
    const all = await Promise.all(queues.map((queue) => inside(queue).scripts()));
    const { store } = inside(queues[0]!);
    for (const [i, calls] of all.entries()) {
      await store.exec(calls.workers.register({ worker: 'w1', serves: true, handlers: HANDLERS }));
      await store.exec(
        calls.workers.describe({ worker: 'w1', details: { host: 'h', pid: 1, slots: 1 }, ageMs: 0 }),
      );
      if (i % 5 === 0) await queues[i]!.enqueue({});
    }
    const sent = jest.spyOn(client, 'sendCommand');
    const counted = async <Reply>(run: () => Promise<Reply>) => {
      sent.mockClear();
      return {
        outcome: await run(),
        commands: sent.mock.calls.filter(([{ name }]) => name.startsWith('eval')).length,
      };
    };
    return { store, queues, all, counted };
  }

  const look = (store: RedisStore, all: readonly StoreCalls[]) =>
    store.queues
      .look(all, ['pending', 'claims'], LIMIT)
      .then((looks) => looks.map((each) => (each.ok ? [...each.reply.found] : each.error.message)));

  const expected = Array.from({ length: 20 }, (_, i) => (i % 5 === 0 ? ['pending'] : []));

  it('reaches all of a master, and returns the outcomes in their order', async () => {
    const { store, all, counted } = await served();
    await look(store, all); // sends the texts
    expect(await counted(() => look(store, all))).toEqual({ outcome: expected, commands: 3 });

    const note = () => store.queues.noteIdle(all, { everyMs: 5_000, gapMs: 180_000 }, LIMIT);
    await note();
    const noted = await counted(note);
    const toClose = expected.map(() => ({ ok: true, reply: false }));
    expect(noted).toEqual({ outcome: toClose, commands: 3 });

    const announced = all.map((calls) => ({ calls, handlers: HANDLERS }));
    const renew = (worker: string, checks: boolean) =>
      store.queues
        .renew(announced, { worker, checks }, LIMIT)
        .then((each) => each.map((one) => one.ok && one.reply.isKnown));
    expect(await renew('w1', true)).toEqual(all.map(() => true));
    expect(await renew('w2', true)).toEqual(all.map(() => false));
    expect(await counted(() => renew('w1', false))).toEqual({ outcome: all.map(() => true), commands: 3 });
  });

  it('asks the queues of a master alone while a slot moves, and together again after that', async () => {
    const { store, all, counted } = await served();
    const key = all[0]!.keys.pending;
    await look(store, all);
    const owner = await cluster.ownerOf(key);
    const other = cluster.nodes.slice(0, 3).find((each) => each !== owner)!;
    await cluster.moveSlot(key, other, async () => {
      const { outcome, commands } = await counted(() => look(store, all));
      expect(outcome.slice(1)).toEqual(expected.slice(1));
      expect(commands).toBeGreaterThan(3);
    });
    await cluster.agreeOn(key);
    await look(store, all);
    await look(store, all);
    const again = await counted(() => look(store, all));
    expect(again).toEqual({ outcome: expected, commands: 3 });
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
