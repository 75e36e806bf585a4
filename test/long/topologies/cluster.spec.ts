// A Cluster whose masters fail over and whose slots move while workers run.
import { once } from 'node:events';
import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Cluster } from 'ioredis';
import { JobQueueService, RedisPermissionError } from 'nest-job-queue';
import { JobQueueHealthIndicator } from 'nest-job-queue/health';
import { Connection } from '#queue/redis/connection.js';
import { JobQueue } from '#queue/job-queue.js';
import { auditServer } from '#queue/doctor/server-audit.js';
import { unstickCluster } from '#queue/redis/cluster/ioredis-cluster-workarounds.js';
import { cut } from '#queue/redis/response-timeout.js';
import { handlerOf, startApp } from '../../nest/app.js';
import {
  CLUSTER_PERMISSIONS,
  createClusterUser,
  DOCTOR_PERMISSIONS,
  MINIMAL_PERMISSIONS,
  refusedCommands,
} from '../../support/redis/acl.js';
import { BACK_MS } from '../../support/queue/bounds.js';
import type { OwnRedis } from '../../support/redis/own-redis.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { startCluster, type OwnCluster } from '../../support/redis/own-cluster.js';
import { Traffic } from '../../support/faults/traffic.js';
import { eventually } from '../../support/faults/wait.js';
import { startWorker, untilAborted } from '../../support/worker/workers.js';
import { inside } from '../../support/queue/inside.js';
import { connectionPoolOf } from '../../support/redis/connection-pool.js';

let cluster: OwnCluster;
const queues = new Set<JobQueue>();

beforeAll(async () => {
  cluster = await startCluster({ replicas: true });
}, 30_000);

afterEach(() => {
  queues.forEach((queue) => queue.close());
  queues.clear();
});

describe('a worker of several queues', () => {
  it('serves them though they are on different masters', async () => {
    const client = cluster.connect();
    const several = ['a', 'b', 'c', 'd'].map((name) => newQueue(name, client));
    expect(new Set(await Promise.all(several.map(ownerOf))).size).toBe(3);
    const worker = await startWorker(
      several.map((queue) => ({ queue, handlers: { [queue.name]: () => undefined } })),
    );
    for (const queue of several) await queue.enqueueMany(Array.from({ length: 20 }, () => ({ payload: 1 })));
    await worker.event('completed', 80);
    expect(worker.warnings).toEqual([]);
  });

  it('learns of a cancel from another process, over the slot of the queue, while its slots are busy', async () => {
    const [client, other] = [cluster.connect(), cluster.connect()];
    const several = ['a', 'b', 'c'].map((name) => longClaims(`cancel-${name}`, client));
    const worker = await startWorker(
      several.map((queue) => ({ queue, concurrency: 1, handlers: { [queue.name]: untilAborted } })),
    );
    const ids = await Promise.all(several.map(async (queue) => (await queue.enqueue(1)).id));
    await worker.event('started', 3);
    const began = performance.now();
    await Promise.all(several.map(({ name }, i) => longClaims(name, other).cancel(ids[i]!)));
    await worker.event('cancelled', 3);
    expect(performance.now() - began).toBeLessThan(BACK_MS);
  });
});

describe('a user with few permissions', () => {
  const permissions = `${MINIMAL_PERMISSIONS} ${DOCTOR_PERMISSIONS} ${CLUSTER_PERMISSIONS}`;

  it('has enqueue, work, sweeps, health and the doctor, also while the slot moves', async () => {
    const [client, name] = [await createClusterUser(cluster, permissions), uniqueQueueName()];
    const app = await startApp({
      jobs: { redis: client, maintenance: { everyMs: 100 } },
      providers: [handlerOf(name)],
    });
    const jobs = app.get(JobQueueService);
    const first = await jobs.enqueue(name, 1);
    expect(await first.result()).toBe('done');
    expect(await app.get(JobQueueHealthIndicator).check('jobs')).toMatchObject({ jobs: { status: 'up' } });
    expect(await jobs.queue(name).doctor({ repair: true })).toMatchObject({ counts: {} });
    const key = keyOf(jobs.queue(name));
    await cluster.moveSlot(key, await otherMaster(key), async () => {
      expect(await jobs.get(name, first.id)).toMatchObject({ status: 'completed' });
      expect(await jobs.get(name, 'nobody')).toBeNull(); // by ASK
    });
    expect(await (await jobs.enqueue(name, 2)).result()).toBe('done');
    await app.close();
    // The boot audit asks for the configuration where it may.
    expect(await refusedCommands(cluster)).toEqual(new Set(['config|get']));
  });

  it.each(['cluster|slots', 'cluster|info', 'asking'])('reports that %s is missing', async (permission) => {
    const client = await createClusterUser(cluster, `${permissions} -${permission}`);
    const queue = newQueue(uniqueQueueName(), client);
    await expect(queue.enqueue(1)).rejects.toMatchObject({
      outcome: 'not-sent',
      message: expect.stringContaining(`found refused: the command ${permission}. Grant`),
    });
    await expect(startWorker(queue)).rejects.toThrow(RedisPermissionError);
  });
});

it('the audit of the servers looks at each master, and says which it speaks of', async () => {
  const client = cluster.connect();
  await client.ping();
  const masters = cluster.nodes.slice(0, 3);
  const [evicting] = masters;
  await cluster.node(evicting!).config('SET', 'maxmemory-policy', 'allkeys-lru');
  const findings = await auditServer(client, true, []);
  await cluster.node(evicting!).config('SET', 'maxmemory-policy', 'noeviction');
  const told = findings.map(({ subject, where }) => `${subject} of ${where}`);
  const expected = masters.map(({ host, port }) => `persistence of ${host}:${port}`);
  expect(told.toSorted()).toEqual(
    [`maxmemory-policy of ${evicting!.host}:${evicting!.port}`, ...expected].toSorted(),
  );
});

it('a client that learns the place of a slot while its connections are replaced connects again all the same', async () => {
  const client = cluster.connect();
  const queue = newQueue(uniqueQueueName(), client);
  await queue.enqueue('before');
  client.disconnect(true);
  // Sends ioredis a redirection at an exact moment, which no real one can be timed to.
  const { host, port } = cluster.nodes[0]!;
  connectionPoolOf(client).findOrCreate({ host, port });
  expect(await queue.enqueue('after')).toMatchObject({ outcome: 'new' });
});

it('a client that still connects when it is to be replaced, as on a machine that is too busy continues connecting', async () => {
  const client = cluster.connect();
  expect(client.status).toBe('connecting');
  cut(client);
  await eventually(() => client.status === 'ready', { what: 'a client that is connected' });
});

describe('a client whose last connection ends late, when it has started to connect again', () => {
  it('connects all the same', async () => {
    const client = cluster.connect();
    // What ioredis does with that end, whenever it comes; it goes back to closed.
    connectionPoolOf(client).emit('drain');
    expect(await newQueue(uniqueQueueName(), client).enqueue('after')).toMatchObject({ outcome: 'new' });
  });

  it('is left alone while its connections end, and leaves nothing behind', async () => {
    const client = cluster.connect();
    await client.ping();
    const listeners = client.listenerCount('close');
    cut(client);
    unstickCluster(client);
    expect(client.status).toBe('disconnecting');
    await eventually(() => client.status === 'ready', { what: 'a client that is connected again' });
    expect(client.listenerCount('close')).toBe(listeners);
  });

  it('stays closed where the application has closed it', async () => {
    const client = cluster.connect();
    await client.ping();
    client.disconnect();
    unstickCluster(client);
    expect(client.status).toBe('disconnecting');
    await eventually(() => client.status !== 'disconnecting', { what: 'a closed client' });
    unstickCluster(client);
    expect(['close', 'end']).toContain(client.status);
  });
});

it('a connection that is made here has each error of its nodes handled, also the second of a socket: an unhandled one ends a process', async () => {
  const made = Connection.of(cluster.connect()).duplicate('waiting for jobs') as Cluster;
  await once(made, 'ready');
  for (const { stream } of made.nodes('all').filter(({ status }) => status === 'ready')) {
    for (const text of ['first', 'second']) expect(() => stream.emit('error', new Error(text))).not.toThrow();
  }
  made.disconnect();
});

it('a client that is cut off while it is redirected has the reply to its ASKING handled: ioredis ignores it, and an unhandled rejection ends a process', async () => {
  const client = cluster.connect();
  await client.ping();
  const [node] = client.nodes('master');
  const answer = node!.asking();
  const hear = jest.spyOn(answer, 'catch');
  cut(client);
  expect(hear).toHaveBeenCalledTimes(1);
  await eventually(() => client.status === 'ready', { what: 'a client that is connected again' });
});

describe("the queue's slot that moves to another master", () => {
  it('holds up jobs until it has moved, and loses and doubles none', async () => {
    const queue = newQueue();
    const runs = new Map<string, number>();
    const worker = await startWorker(queue, ({ id }) => void runs.set(id, (runs.get(id) ?? 0) + 1));
    const traffic = new Traffic(newQueue(queue.name));
    await traffic.more(50);
    const hasty = new JobQueue(cluster.connect(), queue.name, { enqueueTimeoutMs: 500 });
    queues.add(hasty);
    const source = await ownerOf(queue);
    const target = await otherMaster(keyOf(queue));
    await cluster.moveSlot(keyOf(queue), target, async () => {
      const { keys } = await inside(queue).scripts();
      // Reads of one key are sent on to where it is (ASK) …
      expect(await queue.get(traffic.acknowledged[0]!)).toMatchObject({ status: 'completed' });
      // … and a script is refused as a whole. It names a key that never exists, so it cannot run on half a queue.
      const evaluating = cluster.node(source).eval('return 1', 2, keys.jobPrefix, keys.stats);
      await expect(evaluating).rejects.toThrow(/^(TRYAGAIN|ASK)/);
      const refused = { outcome: 'unknown', jobIds: ['refused'] };
      await expect(hasty.enqueue(['refused'], { id: 'refused' })).rejects.toMatchObject(refused);
    });
    expect(await ownerOf(queue)).toBe(target);
    await queue.enqueue(['refused'], { id: 'refused' }); // repeated with its id
    const movedAt = performance.now();
    await worker.event('completed', worker.count('completed') + 1);
    expect(performance.now() - movedAt).toBeLessThan(BACK_MS);
    await traffic.more(20);
    await traffic.settle(cluster.node(target));
    expect([...runs.values()].filter((count) => count !== 1)).toEqual([]);
    expect([...runs.keys()].toSorted()).toEqual([...traffic.acknowledged, 'refused'].toSorted());
  });
});

describe('the master of the queue that fails over', () => {
  it('by CLUSTER FAILOVER loses nothing, and work continues within 2 s', async () => {
    await failOver((_, replica) => cluster.node(replica).call('CLUSTER', 'FAILOVER'));
  }, 30_000);

  it('because it is killed loses nothing that a replica had, and work continues within 2 s', async () => {
    await failOver((master) => master.kill());
  }, 30_000);
});

/** Runs jobs through a failover that `begin` brings about; `WAIT` makes sure of each job before it counts. */
async function failOver(begin: (master: OwnRedis, replica: OwnRedis) => Promise<unknown>): Promise<void> {
  const queue = newQueue();
  const worker = await startWorker(queue, () => undefined, { sweepIntervalMs: 300 });
  const master = await ownerOf(queue);
  const replica = await cluster.replicaOf(master);
  const traffic = new Traffic(newQueue(queue.name), { secured: replicatedFrom(master, queue) });
  await traffic.more(50);
  await begin(master, replica);
  await eventually(async () => (await ownerOf(queue).catch(() => master)) === replica, { what: 'a failover' });
  const failedOverAt = performance.now();
  await worker.event('completed', worker.count('completed') + 1);
  expect(performance.now() - failedOverAt).toBeLessThan(BACK_MS);
  await traffic.more(30);
  await traffic.settle(cluster.node(replica));
}

/**
 * Returns true once the replica has all acknowledged jobs. After a failover, the new master must have acknowledged
 * them.
 */
function replicatedFrom(master: OwnRedis, queue: JobQueue): () => Promise<boolean> {
  let last = master;
  return async () => {
    const owner = await ownerOf(queue);
    if (owner !== last) {
      last = owner;
      return false;
    }
    const node = cluster.node(owner);
    await node.set(`probe:{${queue.name}}`, 1);
    return owner !== master || (await node.wait(1, 500)) >= 1;
  };
}

function newQueue(name = uniqueQueueName(), client = cluster.connect()): JobQueue {
  // A job is claimed again if the failover lost its end.
  const queue = new JobQueue(client, name, { visibilityMs: 1_500, maxAttempts: 10, maxCrashes: 10 });
  queues.add(queue);
  return queue;
}

/** Makes a queue whose heartbeats come every 20 minutes. */
function longClaims(name: string, client: Cluster): JobQueue {
  const queue = new JobQueue(client, name, { visibilityMs: 3_600_000 });
  queues.add(queue);
  return queue;
}

function keyOf(queue: JobQueue): string {
  return `queue:{${queue.name}}:wake`;
}

async function otherMaster(key: string): Promise<OwnRedis> {
  const owner = await cluster.ownerOf(key);
  return cluster.nodes.slice(0, 3).find((node) => node !== owner)!;
}

function ownerOf(queue: JobQueue): Promise<OwnRedis> {
  return cluster.ownerOf(keyOf(queue));
}
