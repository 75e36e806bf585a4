// A Redis that was away for longer than a claim lasts, and returns before any sweep has ever run.
import { describe, expect, it } from '@jest/globals';
import { Sweeper } from '#worker/maintenance/sweeper.js';
import { FaultProxy } from '../support/faults/fault-proxy.js';
import { startOwnRedis } from '../support/redis/own-redis.js';
import { connect } from '../support/redis/redis.js';
import { eventually, gate, sleep } from '../support/faults/wait.js';
import { newQueue, startWorker } from '../support/worker/workers.js';
import { inside } from '../support/queue/inside.js';

const VISIBILITY_MS = 600;

describe('the first sweep of a queue, after a restart of Redis', () => {
  it('gives claims that look expired one heartbeat, since a worker had come before', async () => {
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
});
