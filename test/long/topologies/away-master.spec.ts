// A Cluster with one missing master that is not replaced: queues on the others continue, also in the same worker.
import { beforeAll, expect, it } from '@jest/globals';
import type { Cluster } from 'ioredis';
import { JobQueue } from '#queue/job-queue.js';
import { silenceOf } from '#queue/redis/response-timeout.js';
import { enqueueIsolated } from '../../support/worker/isolated-jobs.js';
import { freeze, type OwnRedis } from '../../support/redis/own-redis.js';
import { startCluster, type OwnCluster } from '../../support/redis/own-cluster.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { eventually, gate } from '../../support/faults/wait.js';
import { startWorker } from '../../support/worker/workers.js';
import { connectionPoolOf } from '../../support/redis/connection-pool.js';

const SILENCE = new Error('no answer');

let cluster: OwnCluster;

beforeAll(async () => {
  cluster = await startCluster({ nodeTimeoutMs: 600_000 }); // who is frozen is not failed
}, 30_000);

it('claims and settles on the others', async () => {
  const { here, away, worker, runs, end } = await workerOfTwo();
  await freeze(away, async () => {
    end(); // its settlement, and the next claim of its queue, have no answer
    await here.enqueueMany(jobs(20));
    await worker.event('completed', 20);
    expect(runs).toEqual({ away: 1, here: 20 });
  });
  await worker.event('completed', 22);
  expect(runs).toEqual({ away: 2, here: 20 });
});

it('keeps the connections to the others, and replaces that one', async () => {
  const { client, here, away, worker, runs, end } = await workerOfTwo({ sweepIntervalMs: 100 });
  const [gone, kept] = sockets(client);
  await freeze(away, async () => {
    end();
    // A sweep is the first that gives up.
    await eventually(() => sockets(client)[0] !== gone, { what: 'a connection that is replaced' });
    await here.enqueueMany(jobs(20));
    await worker.event('completed', 20);
    expect(sockets(client)[1]).toBe(kept);
  });
  await worker.event('completed', 22);
  expect(runs).toEqual({ away: 2, here: 20 });
});

it('rejects the unanswered calls of that connection, and sends none again', async () => {
  const { client, key } = await quietConnection();
  await freeze(cluster.nodes[0]!, async () => {
    const owed = client.incr(key);
    silenceOf(client).replaceDead(0, SILENCE);
    await expect(owed).rejects.toBe(SILENCE);
  });
  expect(await client.incr(key)).toBe(3);
});

it('replaces no connection that has answered its old calls and has new ones', async () => {
  const { client, key, kept } = await quietConnection();
  const first = client.incr(key);
  const silence = silenceOf(client);
  await first;
  const second = client.incr(key);
  silence.replaceDead(0, SILENCE);
  expect(await second).toBe(3);
  expect(sockets(client)[0]).toBe(kept);
});

it('replaces no connection that owed nothing then', async () => {
  const { client, key, kept } = await quietConnection();
  const silence = silenceOf(client);
  const asked = client.incr(key);
  silence.replaceDead(0, SILENCE);
  expect(await asked).toBe(2);
  expect(sockets(client)[0]).toBe(kept);
});

it('opens a queue of the others soon, also where a client asks that master first', async () => {
  const name = await queueOn(1);
  const clients = Array.from({ length: 8 }, () => cluster.connect());
  await Promise.all(clients.map((client) => client.ping())); // each has one connection, to a master of its choice
  await freeze(cluster.nodes[0]!, async () => {
    const started = performance.now();
    await Promise.all(clients.map((client) => new JobQueue(client, name).enqueue('x')));
    expect(performance.now() - started).toBeLessThan(4_000); // a silent connection is replaced after five seconds
  });
});

it('rejects unanswered calls also of a master that left the nodes meanwhile', async () => {
  const { client, key } = await quietConnection();
  await freeze(cluster.nodes[0]!, async () => {
    const owed = client.incr(key);
    const silence = silenceOf(client);
    leaveNode(client, cluster.nodes[0]!); // half-open, that takes two seconds
    silence.replaceDead(0, SILENCE);
    await expect(owed).rejects.toBe(SILENCE);
  });
});

it('starts an isolated job there, which waits for a claim no longer than for a running job', async () => {
  const { here, away, worker, end } = await workerOfTwo({ visibilityMs: 500 });
  worker.worker.pause(here.name);
  const [isolated] = await enqueueIsolated(here);
  await freeze(away, async () => {
    end();
    worker.worker.resume(here.name);
    await worker.event('completed', 1, { id: isolated });
    await here.enqueueMany(jobs(20));
    await worker.event('completed', 21);
  });
  await worker.event('completed', 23);
});

it('continues there also where that master is dead', async () => {
  const { here, away, worker, runs, end } = await workerOfTwo({ sweepIntervalMs: 100 });
  await cluster.node(away).save();
  await away.kill();
  end();
  await here.enqueueMany(jobs(20));
  await worker.event('completed', 20);
  expect(runs).toEqual({ away: 1, here: 20 });
  await away.restart();
  await worker.event('completed', 22);
  expect(runs).toEqual({ away: 2, here: 20 });
});

/**
 * Starts a worker of two queues, with one slot each. The queue of the first master has a running job, which a test
 * releases, and a waiting job. Enqueues in the other queue use a client of their own, as a producer's do.
 */
async function workerOfTwo({ sweepIntervalMs = 0, visibilityMs = 30_000 } = {}) {
  const [client, producer] = [cluster.connect(), cluster.connect()];
  const [first, second] = [await queueOn(0), await queueOn(1)];
  const runs = { away: 0, here: 0 };
  const [begun, ending] = [gate(), gate()];
  const waits = () => {
    runs.away++;
    begun.open();
    return ending.promise;
  };
  const one = { concurrency: 1, prefetch: 0 };
  const worker = await startWorker(
    [
      { queue: new JobQueue(client, first), ...one, handlers: { [first]: waits } },
      {
        queue: new JobQueue(client, second, { visibilityMs }),
        ...one,
        handlers: { [second]: () => void runs.here++ },
      },
    ],
    undefined,
    { sweepIntervalMs },
  );
  await new JobQueue(producer, first).enqueueMany(jobs(2));
  await begun.promise;
  const here = new JobQueue(producer, second);
  await here.stats(); // connected before a master is away
  return { client, here, away: cluster.nodes[0]!, worker, runs, end: () => ending.open() };
}

/** Returns a client whose connection to the first master has no unanswered commands, and a key of that master. */
async function quietConnection() {
  const client = cluster.connect();
  const key = `{${await queueOn(0)}}`;
  await client.incr(key);
  return { client, key, kept: sockets(client)[0] };
}

/** Removes a master from the client's nodes, as a client does when others have all of its slots. */
function leaveNode(client: Cluster, master: OwnRedis): void {
  const others = client.nodes('all').filter(({ options }) => options.port !== master.port);
  connectionPoolOf(client).reset(others.map(({ options: { host, port } }) => ({ host, port })));
  expect(client.nodes('all')).toHaveLength(others.length);
}

function jobs(count: number) {
  return Array.from({ length: count }, (_, payload) => ({ payload }));
}

/** Returns the name of a queue that a master serves. */
async function queueOn(master: number): Promise<string> {
  for (;;) {
    const name = uniqueQueueName();
    if ((await cluster.ownerOf(`{${name}}`)) === cluster.nodes[master]) return name;
  }
}

/** Returns the local port of a client's connection to each master; undefined without a connection. */
function sockets(client: Cluster): (number | undefined)[] {
  const nodes = client.nodes('master');
  return cluster.nodes.map(({ port }) => nodes.find(({ options }) => options.port === port)?.stream?.localPort);
}
