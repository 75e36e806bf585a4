// What a worker costs a Redis on which nothing happens.
import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { JobQueue } from '../../src/queue/job-queue.js';
import type { WorkerOptions } from '../../src/worker/worker-options.js';
import { atMost } from '../support/bounds.js';
import { startOwnRedis } from '../support/own-redis.js';
import { connect } from '../support/redis.js';
import { sleep } from '../support/wait.js';
import { connectionsOf, idle, namedConnection, newQueue, startWorker } from '../support/workers.js';

const MEASURED_MS = 5_000;

/** How many commands a second a worker of so many queues may send. */
const BOUNDS: [queues: number, options: WorkerOptions, most: number][] = [
  [1, {}, 6],
  [4, {}, 14],
  [10, {}, 36],
  [10, { concurrency: 20 }, 36],
];

describe('an idle worker', () => {
  it('sends at most so many commands a second', async () => {
    // All at once, each with a server of its own: they do little but wait.
    const measured = await Promise.all(
      BOUNDS.map(async ([count, options, most]) => {
        const server = await startOwnRedis();
        const redis = namedConnection({}, server.url);
        const queues = Array.from({ length: count }, () => newQueue({}, redis));
        await startWorker(list(queues), undefined, { sweepIntervalMs: 5_000, ...options });
        await idle(redis);
        return { count, options, most, sent: await commandsPerSecond(connect({}, server.url)) };
      }),
    );
    expect(measured.filter(({ sent, most }) => sent === 0 || sent > most)).toEqual([]);
  });

  it('has one connection for commands and one that waits, whatever the number of queues', async () => {
    const redis = namedConnection();
    const queues = Array.from({ length: 10 }, () => newQueue({}, redis));
    const worker = await startWorker(list(queues), undefined, { sweepIntervalMs: 50 });
    await Promise.all(queues.map((queue) => queue.enqueue({})));
    await worker.event('completed', 10);
    await idle(redis);
    expect(await connectionsOf(redis)).toHaveLength(2);
  });

  it('asks once a second, and does not spin, where the server refuses the wait', async () => {
    const server = await startOwnRedis();
    const admin = connect({}, server.url);
    await admin.call('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all', '-bzpopmin');
    const redis = namedConnection({ username: 'app', password: 'secret' }, server.url);
    const queue = newQueue({}, redis);
    const worker = await startWorker(queue);
    await queue.enqueue({});
    await worker.event('completed');
    expect(await commandsPerSecond(admin)).toBeLessThanOrEqual(6);
    expect(worker.warnings).toEqual([expect.stringMatching(/bzpopmin.*once a second/)]);
    const begun = performance.now();
    await queue.enqueue({});
    await worker.event('completed', 2);
    expect(performance.now() - begun).toBeLessThan(atMost(1_500));
  });
});

function list(queues: JobQueue[]) {
  return queues.map((queue) => ({ queue, handlers: { [queue.name]: () => undefined } }));
}

/** Those that clients send, not those that scripts call, and without the ones that measure. */
async function commandsPerSecond(redis: Redis): Promise<number> {
  const count = async () => {
    const stats = await redis.info('commandstats');
    let sent = 0;
    for (const [, name, calls] of stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)) {
      if (/^(eval|evalsha|bzpopmin|ping|client\|.*)$/.test(name!)) sent += Number(calls);
    }
    // Refused commands are not in calls.
    for (const [, rejected] of stats.matchAll(/rejected_calls=(\d+)/g)) sent += Number(rejected);
    return sent;
  };
  const begun = performance.now();
  const before = await count();
  await sleep(MEASURED_MS);
  return (((await count()) - before) * 1_000) / (performance.now() - begun);
}
