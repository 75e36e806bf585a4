// A Redis that was away for longer than a claim lasts, and returns before any sweep has ever run.
import { expect, it } from '@jest/globals';
import { Sweeper } from '#worker/maintenance/sweeper.js';
import { FaultProxy } from '../support/faults/fault-proxy.js';
import { startOwnRedis } from '../support/redis/own-redis.js';
import { connect } from '../support/redis/redis.js';
import { eventually, gate, sleep } from '../support/faults/wait.js';
import { newQueue, startWorker } from '../support/worker/workers.js';
import { inside } from '../support/queue/inside.js';

const VISIBILITY_MS = 600;

it('the first sweep of a queue, after a restart of Redis gives claims that look expired one heartbeat, since a worker had come before', async () => {
  const server = await startOwnRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
  const proxy = await FaultProxy.start(server.url);
  const again = { retryStrategy: () => 20, maxRetriesPerRequest: null };
  const [redis, observer] = [connect(again, proxy.url), connect(again, server.url)];
  [redis, observer].forEach((client) => client.on('error', () => undefined));
  const queue = newQueue({ visibilityMs: VISIBILITY_MS }, redis);
  const elsewhere = newQueue({ visibilityMs: VISIBILITY_MS }, observer, queue.name);
  const finish = gate();
  const worker = await startWorker(queue, () => finish.promise, { sweepIntervalMs: 0 });
  const { id } = await elsewhere.enqueue({});
  await worker.event('started');
  const { keys } = await inside(elsewhere).scripts();

  proxy.refuse(); // the worker reconnects later than the sweeper
  await server.kill();
  await sleep(VISIBILITY_MS); // the claim expires without a server, so there is no signal
  await server.restart();
  const expiry = async () => Number(await observer.zscore(keys.claims, id));
  const [seconds, microseconds] = (await observer.time()).map(Number);
  expect(await expiry()).toBeLessThan(seconds! * 1_000 + microseconds! / 1_000);
  const warnings: string[] = [];
  const note = (line: string) => void warnings.push(line);
  const sweeper = new Sweeper([elsewhere], 100, { log: () => {}, warn: note, error: note });
  expect(await sweeper.runOnce()).toMatchObject({ reclaimed: 0 });

  const before = await expiry();
  proxy.heal();
  await eventually(async () => (await expiry()) > before, { what: 'a heartbeat' });
  expect(await sweeper.runOnce()).toMatchObject({ reclaimed: 0 });
  finish.open();
  await worker.event('completed');
  expect(await elsewhere.get(id)).toMatchObject({ attempts: 1, crashes: 0 });
  expect(worker.count('lost')).toBe(0);
  expect(warnings).toEqual([]);
});

it.each([1, 2])(
  'a restart of Redis that is shorter than the interval of maintenance starts no job twice, after %i of them',
  async (times) => {
    const server = await startOwnRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    const proxy = await FaultProxy.start(server.url);
    const slow = { retryStrategy: () => 1_500, maxRetriesPerRequest: null }; // a heartbeat is much shorter
    const quick = { retryStrategy: () => 20, maxRetriesPerRequest: null };
    const [redis, observer] = [connect(slow, proxy.url), connect(quick, server.url)];
    [redis, observer].forEach((client) => client.on('error', () => undefined));
    const options = { visibilityMs: VISIBILITY_MS, maxRunning: 6 };
    const queue = newQueue(options, redis);
    const elsewhere = newQueue(options, observer, queue.name);
    const finish = gate();
    const worker = await startWorker(queue, () => finish.promise, { sweepIntervalMs: 0 });
    await elsewhere.enqueueMany(Array.from({ length: 8 }, (_, payload) => ({ payload })));
    await worker.event('started', 6);
    const sweeper = new Sweeper([elsewhere], 1_000, { log: () => {}, warn: () => {}, error: () => {} });
    expect(await sweeper.runRound()).toMatchObject({ reclaimed: 0 });
    const { keys } = await inside(elsewhere).scripts();
    for (let i = 0; i < times; i++) {
      await server.kill();
      await sleep(VISIBILITY_MS); // the claims expire without a server
      await server.restart();
      await eventually(async () => Number(await observer.exists(keys.claims)) === 1);
      expect(await sweeper.runRound()).toMatchObject({ reclaimed: 0 });
    }
    const [seconds] = (await observer.time()).map(Number);
    const extended = async () =>
      Number((await observer.zrange(keys.claims, '0', '0', 'WITHSCORES'))[1]) > seconds! * 1_000 + 1_000;
    await eventually(extended, { what: 'a heartbeat' });
    expect(await sweeper.runRound()).toMatchObject({ reclaimed: 0 });
    finish.open();
    await worker.event('completed', 8);
    expect(worker.count('started')).toBe(8);
    expect(worker.count('lost')).toBe(0);
    await sweeper.stop();
  },
);
