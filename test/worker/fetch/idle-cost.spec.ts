// What a worker costs a Redis on which nothing happens.
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { JobQueue } from '#queue/job-queue.js';
import { silentLogger } from '#queue/runtime/logger.js';
import { Sweeper } from '#worker/maintenance/sweeper.js';
import type { WorkerOptions } from '#worker/worker-options.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { queueOn, type TestQueue } from '../../support/queue/queue-state.js';
import { connect } from '../../support/redis/redis.js';
import { sleep } from '../../support/faults/wait.js';
import { connectionsOf, idle, namedConnection, newQueue, startWorker } from '../../support/worker/workers.js';

const MEASURED_MS = 5_000;

/** The number of commands a second that a worker of this many queues may send. */
const BOUNDS: [queues: number, options: WorkerOptions, most: number, delayed?: 'delayed'][] = [
  [1, {}, 5],
  [4, {}, 8],
  [10, {}, 8],
  [10, { concurrency: 20 }, 14],
  [64, {}, 8],
  [300, {}, 8],
  // The shards of a queue, each with a job that is due much later. A worker that ends its own waits sends hundreds.
  [4, { concurrency: 20, claimsFromOne: true }, 30, 'delayed'],
  [8, { concurrency: 20, claimsFromOne: true }, 30, 'delayed'],
];

/** Returns the number of commands a second of idle workers, each with a server of its own. */
function measureIdle() {
  return Promise.all(
    BOUNDS.map(async ([count, options, most, delayed]) => {
      const server = await startOwnRedis();
      const redis = namedConnection({}, server.url);
      const queues = Array.from({ length: count }, () => newQueue({}, redis));
      await startWorker(list(queues), undefined, { sweepIntervalMs: 5_000, ...options });
      await Promise.all(delayed ? queues.map((queue) => queue.enqueue({}, { delayMs: 3_600_000 })) : []);
      await idle(redis);
      return { count, options, most, sent: await commandsPerSecond(connect({}, server.url)) };
    }),
  );
}

/** Returns the number of claims in a second. The rate of the worker is spent, and it has met a job of another name. */
async function measureSpentRate(): Promise<number> {
  const server = await startOwnRedis();
  const queue = newQueue({}, connect({}, server.url));
  await queue.limits.set({ rateLimit: { limit: 1, periodMs: 3_600_000 } });
  const worker = await startWorker([{ queue, handlers: { mail: () => undefined } }]);
  await queue.enqueueMany(['fax', 'mail', 'mail'].map((name) => ({ payload: 1, name })));
  await worker.event('completed');
  const admin = connect({}, server.url);
  const claims = async () => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await admin.info('commandstats'))?.[1] ?? 0);
  const before = await claims();
  await sleep(1_000);
  return (await claims()) - before;
}

/** Measures a worker whose server refuses the wait for markers. */
async function measureRefusedWait(): Promise<{ sent: number; warnings: string[]; nextJobMs: number }> {
  const server = await startOwnRedis();
  const admin = connect({}, server.url);
  await admin.call('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all', '-bzpopmin');
  const redis = namedConnection({ username: 'app', password: 'secret' }, server.url);
  const queue = newQueue({}, redis);
  const worker = await startWorker(queue);
  await queue.enqueue({});
  await worker.event('completed');
  const sent = await commandsPerSecond(admin, 2_000);
  const { warnings } = worker;
  const begun = performance.now();
  await queue.enqueue({});
  await worker.event('completed', 2);
  return { sent, warnings, nextJobMs: performance.now() - begun };
}

describe('an idle worker', () => {
  let measured: Awaited<ReturnType<typeof measureIdle>>;
  let claimsAtSpentRate: number;
  let refused: Awaited<ReturnType<typeof measureRefusedWait>>;

  beforeAll(async () => {
    // All at once, because they do little but wait.
    [measured, claimsAtSpentRate, refused] = await Promise.all([
      measureIdle(),
      measureSpentRate(),
      measureRefusedWait(),
    ]);
  }, 60_000);

  it('sends at most this many commands a second', () => {
    expect(measured.filter(({ sent, most }) => sent === 0 || sent > most)).toEqual([]);
  });

  it('looks into long histories once in an interval, however many of its replicas sweep', async () => {
    const server = await startOwnRedis();
    const redis = connect({}, server.url);
    const queue = newQueue({}, redis);
    await fillHistories(queueOn(redis, {}, queue.name));
    const costs: number[] = [];
    for (let replica = 0; replica < 3; replica++) {
      const before = await commandsCalled(redis);
      await new Sweeper([queue], 60_000, silentLogger).runOnce();
      costs.push((await commandsCalled(redis)) - before);
    }
    expect(costs[0]).toBeGreaterThan(500);
    expect(costs[0]).toBeLessThanOrEqual(1_800);
    expect(Math.max(...costs.slice(1))).toBeLessThanOrEqual(40);
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

  it('does not spin for a spent rate once it has met a job of another name', () => {
    expect(claimsAtSpentRate).toBeLessThanOrEqual(20); // not one each 2 ms
  });

  it('asks once a second, and does not spin, where the server refuses the wait', () => {
    expect(refused.sent).toBeLessThanOrEqual(6);
    expect(refused.warnings).toEqual([expect.stringMatching(/bzpopmin.*once a second/)]);
    expect(refused.nextJobMs).toBeLessThan(3_000);
  });
});

function list(queues: JobQueue[]) {
  return queues.map((queue) => ({ queue, handlers: { [queue.name]: () => undefined } }));
}

/** Adds three hundred jobs of each outcome, more than one slice, which the sweep has seen. */
async function fillHistories(q: TestQueue): Promise<void> {
  const error = { name: 'Error', message: 'no' };
  const endAs = {
    completed: (ids: string[]) =>
      q.claim(ids.length).then((jobs) => q.run(q.scripts.complete(jobs.map((job) => ({ ...job, result: '1' }))))),
    failed: async (ids: string[]) => {
      const failures = (await q.claim(ids.length)).map((job) => ({ ...job, error, final: true, backoffMs: 0 }));
      await q.run(q.scripts.fail(failures));
    },
    cancelled: (ids: string[]) => Promise.all(ids.map((id) => q.run(q.scripts.cancel({ id })))),
  };
  for (const [state, end] of Object.entries(endAs)) {
    for (let hundred = 0; hundred < 3; hundred++) {
      const ids = Array.from({ length: 100 }, (_, i) => `${state}-${hundred}-${i}`);
      await q.addAll(...ids);
      await end(ids);
    }
  }
  while ((await q.run(q.scripts.sweep.tidy({ limit: 200 }))).more);
}

/** Counts the commands until now, also by scripts, without the commands of this measurement. */
async function commandsCalled(redis: Redis): Promise<number> {
  const stats = await redis.info('commandstats');
  const calls = [...stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].filter(([, name]) => name !== 'info');
  return calls.reduce((sum, [, , count]) => sum + Number(count), 0);
}

/** Counts the commands that clients send, not those of scripts or of this measurement. */
async function commandsPerSecond(redis: Redis, measuredMs = MEASURED_MS): Promise<number> {
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
  await sleep(measuredMs);
  return (((await count()) - before) * 1_000) / (performance.now() - begun);
}
