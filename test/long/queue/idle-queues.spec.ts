// What thousands of idle queues cost Redis, of one process and of ten. test/worker/fetch/idle-cost.spec.ts shows the same of hundreds.
import { afterAll, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { JobQueue } from '#queue/job-queue.js';
import { sleep } from '../../support/faults/wait.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';
import { idle, namedConnection, startWorker } from '../../support/worker/workers.js';

/** The interval of the rarest task that each idle queue has: the note that it was maintained. */
const MEASURED_MS = 60_000;

const SENT = new Set(['eval', 'evalsha', 'bzpopmin', 'ping']);

/** The processes of a fleet with the same queues. */
const FLEET = 10;

/** The most that Redis receives and does a second, for these idle queues. */
const BOUNDS = [
  { count: 1_000, sent: 8, inside: 250, kilobytes: 160 },
  { count: 5_000, sent: 10, inside: 1_000, kilobytes: 600 },
];

/** The time until each worker knows its fleet, by the reply to its first repeated announcement after 20 s. */
const SETTLED_MS = 30_000;

/**
 * The most that a fleet costs, as times the cost of one process with the same queues. Each process has its own waits and
 * announcements. Looks and maintenance are shared. An announcement writes to each queue, so what scripts do is not.
 */
const FLEET_BOUNDS = [
  { count: 300, sent: 2, inside: 8.5, cpuMs: 3 },
  { count: 1_000, sent: 2, inside: 8.5, cpuMs: 3 },
];

const open: JobQueue[] = [];

afterAll(() => open.forEach((queue) => queue.close()));

it('sends a few commands and bytes a second for thousands of idle queues', async () => {
  const measured = await Promise.all(BOUNDS.map(async (bound) => ({ bound, cost: await costOf(bound.count) })));
  const above = measured.filter(
    ({ bound, cost }) =>
      cost.sent > bound.sent || cost.inside > bound.inside || cost.bytes > 1_000 * bound.kilobytes,
  );
  expect(above).toEqual([]);
}, 240_000);

it('costs less for each further process of a fleet than for the first one', async () => {
  const measured = await Promise.all(
    FLEET_BOUNDS.map(async (bound) => {
      const [one, all] = await Promise.all([costOf(bound.count), costOf(bound.count, FLEET)]);
      return { bound, one, all, times: timesOf(all, one) };
    }),
  );
  const above = measured.filter(
    ({ bound, times }) => times.sent > bound.sent || times.inside > bound.inside || times.cpuMs > bound.cpuMs,
  );
  expect(above).toEqual([]);
}, 300_000);

type Cost = Awaited<ReturnType<typeof costOf>>;

function timesOf(all: Cost, one: Cost) {
  return { sent: all.sent / one.sent, inside: all.inside / one.inside, cpuMs: all.cpuMs / one.cpuMs };
}

/** Returns what Redis receives and does a second, for this many idle queues of each of some workers. */
async function costOf(count: number, workers = 1) {
  const server = await startOwnRedis();
  for (let i = 0; i < workers; i++) {
    await startProcess(server.url, count);
  }
  await sleep(SETTLED_MS); // the first round looks at all queues
  const admin = connect({}, server.url);
  const before = await read(admin);
  await sleep(MEASURED_MS);
  const after = await read(admin);
  const perSecond = (of: 'sent' | 'inside' | 'bytes' | 'cpuMs') =>
    ((after[of] - before[of]) * 1_000) / (after.atMs - before.atMs);
  return {
    sent: perSecond('sent'),
    inside: perSecond('inside'),
    bytes: perSecond('bytes'),
    cpuMs: perSecond('cpuMs'),
  };
}

/** Starts a worker with a client of its own. */
async function startProcess(url: string, count: number): Promise<void> {
  const redis = namedConnection({}, url);
  const queues = Array.from({ length: count }, (_, i) => new JobQueue(redis, `q${i}`));
  open.push(...queues);
  await startWorker(
    queues.map((queue) => ({ queue, handlers: { [queue.name]: () => undefined } })),
    undefined,
    { sweepIntervalMs: 5_000 },
  );
  await idle(redis);
}

async function read(redis: Redis) {
  const stats = await redis.info('commandstats');
  const calls = [...stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].filter(([, name]) => name !== 'info');
  const sum = (isSent: boolean) =>
    calls.filter(([, name]) => SENT.has(name!) === isSent).reduce((total, [, , count]) => total + Number(count), 0);
  const bytes = Number(/total_net_input_bytes:(\d+)/.exec(await redis.info('stats'))![1]);
  const cpu = [...(await redis.info('cpu')).matchAll(/^used_cpu_(?:sys|user):([\d.]+)/gm)];
  const cpuMs = 1_000 * cpu.reduce((total, [, seconds]) => total + Number(seconds), 0);
  return { sent: sum(true), inside: sum(false), bytes, cpuMs, atMs: performance.now() };
}
