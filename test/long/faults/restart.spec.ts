// A Redis that restarts: with its data nothing is lost, without it the data is, and nothing else.
import { afterAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { RedisConnection } from '#nest/connection/server-connection.js';
import type { Job } from '#worker/handlers/job.js';
import { BACK_MS } from '../../support/queue/bounds.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { eventually, gate, sleep } from '../../support/faults/wait.js';
import { connect } from '../../support/redis/redis.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';
import { inside } from '../../support/queue/inside.js';

const WITH_AOF = ['--appendonly', 'yes', '--appendfsync', 'always'];

const connections: RedisConnection[] = [];
afterAll(() => Promise.all(connections.map((each) => each.close())));

/** Makes a connection as the module does. */
function made(url: string): RedisConnection {
  const connection = new RedisConnection(url, { log: () => {}, warn: () => {}, error: () => {} });
  connections.push(connection);
  return connection;
}

/** Starts a worker on a server of its own. The test reads events here, and states over another connection. */
async function ownServer(args: string[] = []) {
  const server = await startOwnRedis({ args });
  const options = { retryStrategy: () => 50, maxRetriesPerRequest: null };
  const [redis, observer] = [connect(options, server.url), connect(options, server.url)];
  [redis, observer].forEach((client) => client.on('error', () => undefined));
  await Promise.all([redis.ping(), observer.ping()]);
  const queue = newQueue({ visibilityMs: 5_000 }, redis);
  return { server, queue, observer };
}

describe('Redis that restarts with its data (AOF)', () => {
  it('gets no claim of a worker that stopped while Redis was away', async () => {
    const { server, queue, observer } = await ownServer(WITH_AOF);
    const running = gate();
    const worker = await startWorker(queue, () => running.promise, { perQueue: 2 });
    await queue.enqueue('long');
    await worker.event('started');
    const { id } = await queue.enqueue(['due by then'], { delayMs: 500 });
    await eventually(async () => /flags=\w*b/.test(String(await observer.client('LIST'))), { what: 'a wait' });
    await server.kill();
    await eventually(() => !inside(queue).connection.ready);
    const stopped = worker.worker.stop({ timeoutMs: 15_000 });
    await sleep(500); // the job becomes due without a server, so there is no signal
    await server.restart();
    await observer.ping();
    await eventually(() => inside(queue).connection.ready);
    await sleep(500); // shows that no claim follows: each connection is back after 50 ms
    running.open();
    await stopped;
    expect(await observer.hget((await inside(queue).scripts()).keys.job(id), 'attempts')).toBeNull(); // never claimed
  });

  it('loses no job that was acknowledged, and records none twice', async () => {
    const { server, queue } = await ownServer(WITH_AOF);
    const running = gate();
    const runs = new Map<string, number>();
    const worker = await startWorker(queue, async (job: Job) => {
      runs.set(job.id, (runs.get(job.id) ?? 0) + 1);
      if (job.payload === 'long') await running.promise;
      await sleep(2); // the run time, so that jobs are left when the server dies
    });
    const long = await queue.enqueue('long');
    await worker.event('started');
    const handles = await queue.enqueueMany(Array.from({ length: 300 }, (_, payload) => ({ payload })));
    await worker.event('completed', 50);
    await server.kill();
    await server.restart();
    const begun = performance.now();
    await worker.event('completed', 60);
    expect(performance.now() - begun).toBeLessThan(BACK_MS);
    running.open();
    await worker.event('completed', 301);
    expect(runs.size).toBe(301);
    expect([...runs.values()].every((count) => count === 1)).toBe(true);
    const { totals, ...depths } = await queue.stats();
    expect(totals).toMatchObject({ completed: 301, enqueued: 301 });
    expect(depths).toMatchObject({ pending: 0, processing: 0, failed: 0, completed: 301 });
    expect(await queue.get(long.id)).toMatchObject({ attempts: 1 });
    expect(handles).toHaveLength(300);
  });

  it('does not let the sweep take live claims for dead after a long absence', async () => {
    const { server, queue, observer } = await ownServer(WITH_AOF);
    const finish = gate();
    const { id } = await queue.enqueue({});
    const worker = await startWorker(queue, () => finish.promise, { sweepIntervalMs: 100 });
    await worker.event('started');
    const { keys } = await inside(queue).scripts();
    await eventually(() => observer.hexists(keys.sweep, 'last_run_at_ms'));
    // As if the server had been away for an hour: every claim has expired, and no sweep has run.
    worker.worker.pause();
    await observer
      .multi()
      .hset(keys.sweep, 'last_run_at_ms', Date.now() - 3_600_000)
      .zadd(keys.claims, Date.now() - 1_800_000, id)
      .exec();
    await server.kill();
    await server.restart();
    await eventually(async () => Number(await observer.zscore(keys.claims, id)) > Date.now(), {
      what: 'a heartbeat',
    });
    finish.open();
    await worker.event('completed');
    expect(await queue.get(id)).toMatchObject({ attempts: 1, crashes: 0 });
  });
});

it('Redis that takes its time to load its data is used within 2 s once it has, by a connection that the module made', async () => {
  // Five thousand writes take it three seconds, and all the bytes after them nearly none: its estimate is minutes.
  const slowly = ['--key-load-delay', '500'];
  const server = await startOwnRedis({ args: [...WITH_AOF, ...slowly] });
  const { client } = made(server.url);
  const redis = client as Redis;
  const queue = newQueue({}, redis);
  const worker = await startWorker(queue);
  await queue.enqueue('before');
  await worker.event('completed');
  const pipeline = redis.pipeline();
  for (let i = 0; i < 5_000; i++) pipeline.set(`small:${i}`, i);
  await pipeline.set('large', 'x'.repeat(20_000_000)).exec();
  await server.kill();
  const restarted = server.restart();
  await eventually(() => redis.status === 'connect', { what: 'a connection to a server that loads' });
  await restarted;
  const begun = performance.now();
  await queue.enqueue('after');
  await worker.event('completed', 2);
  expect(performance.now() - begun).toBeLessThan(BACK_MS);
}, 30_000);

describe('Redis that is away for long', () => {
  it('gets no call afterwards that timed out meanwhile', async () => {
    const { server, queue, observer } = await ownServer();
    const scripts = await inside(queue).scripts();
    await server.kill();
    await eventually(() => inside(queue).connection.client.status !== 'ready');
    await expect(
      queue.store.exec(scripts.workers.register({ worker: 'ghost', serves: true, handlers: [] }), {
        timeoutMs: 1_000,
      }),
    ).rejects.toThrow('no answer');
    await server.restart();
    await Promise.all([queue.stats(), observer.ping()]);
    expect(await observer.exists(scripts.keys.workers)).toBe(0);
  });

  it('finds the module trying each second at least, however long it was', () => {
    const connection = new RedisConnection('redis://127.0.0.1:1', {
      log: () => {},
      warn: () => {},
      error: () => {},
    });
    const { retryStrategy } = (connection.client as Redis).options;
    const pauses = Array.from({ length: 2_000 }, (_, times) => Number(retryStrategy!(times + 1)));
    expect(pauses.every((ms) => ms > 0 && ms <= 1_000)).toBe(true);
    expect(pauses[0]).toBeLessThanOrEqual(100);
  });
});

it('Redis that restarts without its data blocks no worker: running jobs lose their claims, and new ones run', async () => {
  const { server, queue } = await ownServer();
  const never = gate();
  const reasons: string[] = [];
  const worker = await startWorker(
    queue,
    (job: Job) => {
      if (job.payload !== 'stuck') return 'done';
      job.signal.addEventListener('abort', () => reasons.push((job.signal.reason as Error).name));
      return never.promise;
    },
    { perQueue: 3 },
  );
  await queue.enqueueMany([{ payload: 'stuck' }, { payload: 'stuck' }]);
  await worker.event('started', 2);
  await server.kill();
  await server.restart();
  const backAt = performance.now();
  const { id } = await queue.enqueue('new');
  await worker.event('completed');
  expect(performance.now() - backAt).toBeLessThan(BACK_MS);
  expect(await queue.get(id)).toMatchObject({ status: 'completed', result: 'done' });
  await worker.event('lost', 2);
  expect(reasons).toEqual(['ClaimLostError', 'ClaimLostError']);
  // The fences start again, and the handlers that ignore their signals still hold their slots.
  await queue.enqueueMany(Array.from({ length: 20 }, () => ({ payload: 'more' })));
  await worker.event('completed', 21);
  expect(worker.worker.running).toBe(2);
  never.open();
  await eventually(() => worker.worker.running === 0);
  expect(await queue.stats()).toMatchObject({ pending: 0, processing: 0, completed: 21, failed: 0 });
});

it('Redis that freezes is used again within 2 s, and no job is lost or recorded twice', async () => {
  const { server, queue } = await ownServer();
  // The run time: most of the 200 jobs are left when the server freezes.
  const worker = await startWorker(queue, () => sleep(5), { sweepIntervalMs: 1_000 });
  await queue.enqueueMany(Array.from({ length: 200 }, (_, payload) => ({ payload })));
  await worker.event('completed', 20);
  await server.kill('SIGSTOP');
  await eventually(() => worker.warnings.some((line) => line.includes('no answer within')), {
    what: 'a call that was not answered in time',
  });
  await server.kill('SIGCONT');
  const thawedAt = performance.now();
  await worker.event('completed', worker.count('completed') + 1);
  expect(performance.now() - thawedAt).toBeLessThan(BACK_MS);
  await worker.event('completed', 200);
  expect((await queue.stats()).totals).toMatchObject({ completed: 200, enqueued: 200 });
});

it('Redis that forgets its scripts gets them again, whatever the worker was doing', async () => {
  const { queue, observer } = await ownServer();
  const worker = await startWorker(queue, (job: Job) => {
    if (job.attempt === 1 && job.payload === 'fails') throw new Error('first');
  });
  for (let round = 0; round < 5; round++) {
    await observer.script('FLUSH');
    await queue.enqueue('fails');
    await observer.script('FLUSH');
    await queue.enqueue('plain');
    await worker.event('completed', 2 * round + 2);
  }
  expect((await queue.stats()).totals).toMatchObject({ completed: 10, retried: 5 });
  expect(worker.warnings).toEqual([]);
});

it('Redis that is away for longer than an enqueue may take refuses the enqueue, and the worker recovers', async () => {
  const { server, queue } = await ownServer();
  const worker = await startWorker(queue);
  await server.kill();
  const producer = newQueue({ enqueueTimeoutMs: 100 }, connect({ lazyConnect: true }, server.url), queue.name);
  inside(producer).connection.client.on('error', () => undefined);
  await expect(producer.enqueue({})).rejects.toMatchObject({ outcome: 'not-sent' });
  await server.restart();
  await eventually(() => inside(producer).connection.ready);
  await queue.enqueue('after');
  await worker.event('completed');
  expect((await queue.stats()).totals.enqueued).toBe(1);
  expect(worker.worker.sinceLastFetchMs).toBeLessThan(BACK_MS);
});
