// What a worker costs a Redis on which nothing happens.
import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { JobQueue } from '../../src/queue/job-queue.js';
import { startOwnRedis } from '../support/own-redis.js';
import { connect } from '../support/redis.js';
import { sleep } from '../support/wait.js';
import { connectionsOf, idle, namedConnection, newQueue, startWorker } from '../support/workers.js';

const MEASURED_MS = 5_000;

describe('an idle worker', () => {
  it.each([
    [1, {}, 6],
    [4, {}, 14],
    [10, {}, 36],
    [10, { concurrency: 20 }, 36],
  ])('of %i queues with %j sends at most so many commands a second', async (count, options, most) => {
    const server = await startOwnRedis();
    const redis = namedConnection({}, server.url);
    const queues = Array.from({ length: count }, () => newQueue({}, redis));
    await startWorker(list(queues), undefined, { sweepIntervalMs: 5_000, ...options });
    await idle(redis);
    const perSecond = await commandsPerSecond(connect({}, server.url));
    expect(perSecond.sent).toBeLessThanOrEqual(most);
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
    const perSecond = await commandsPerSecond(admin);
    expect(perSecond.sent).toBeLessThanOrEqual(6);
    expect(worker.warnings).toEqual([expect.stringMatching(/bzpopmin.*once a second/)]);
    const begun = performance.now();
    await queue.enqueue({});
    await worker.event('completed', 2);
    expect(performance.now() - begun).toBeLessThan(1_500);
  });
});

function list(queues: JobQueue[]) {
  return queues.map((queue) => ({ queue, handlers: { [queue.name]: () => undefined } }));
}

/** `sent`: by clients; `inner`: those that scripts call, too. Without the ones that measure. */
async function commandsPerSecond(redis: Redis): Promise<{ sent: number; inner: number }> {
  const count = async () => {
    const stats = await redis.info('commandstats');
    let [sent, inner] = [0, 0];
    for (const [, name, calls] of stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)) {
      if (name === 'info') continue;
      inner += Number(calls);
      if (/^(eval|evalsha|bzpopmin|ping|client\|.*)$/.test(name!)) sent += Number(calls);
    }
    // Refused commands are not in calls.
    for (const [, rejected] of stats.matchAll(/rejected_calls=(\d+)/g)) sent += Number(rejected);
    return { sent, inner };
  };
  const before = await count();
  await sleep(MEASURED_MS);
  const after = await count();
  const rate = (key: 'sent' | 'inner') => ((after[key] - before[key]) * 1_000) / MEASURED_MS;
  return { sent: rate('sent'), inner: rate('inner') };
}
