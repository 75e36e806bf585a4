// node bench/slots/shared.mjs: how much of its slots a worker uses if its queues share a `concurrency` of the process.
// Compares a worker with and without prefetched jobs to the same handlers in a bare loop. Then compares queues with limits
// or groups, where nothing is prefetched, to plain ones. Prints the tables of
// docs/internals/performance.md. Needs `npm run build`.
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { JobQueue, Worker } from '../../dist/esm/core.js';
import { startRedisServer } from '../../scripts/redis/redis-server.mjs';
import { median } from '../report/stats.mjs';
import { runBareLoop } from './bare-loop.mjs';

const QUEUES = [1, 10];
const SLOTS = [10, 50];
const HANDLERS_MS = [1, 5];
const MANY = 100_000;
/** Limits that no job waits for. */
const KINDS = [
  ['plain', {}],
  ['`maxRunning`', { limits: { maxRunning: MANY } }],
  ['`rateLimit`', { limits: { rateLimit: { limit: MANY, periodMs: 1_000, burst: MANY } } }],
  ['groups', { groups: 100 }],
];
const ROUNDS = 3;
const ROUND_MS = 400;

const monotonicUs = () => performance.now() * 1_000;
const p99 = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)];

/** Returns the jobs of a second, and the 99th percentile from claim to start, in ms. */
async function runWorker(redis, { queues, slots, handlerMs, total, prefetch, limits, groups, isShared = true }) {
  const [waits, ended] = [[], deferred()];
  let [done, startedAt] = [0, undefined];
  const handle = async (job) => {
    startedAt ??= performance.now();
    waits.push(Date.now() - job.claimedAt.getTime());
    await sleep(handlerMs);
    if (++done === total) ended.resolve(performance.now());
  };
  const served = Array.from({ length: queues }, (_, i) => {
    const queue = new JobQueue(redis, `shared-${i}`);
    return { queue, concurrency: slots, handlers: { [queue.name]: handle }, ...(prefetch === 0 && { prefetch }) };
  });
  await redis.flushall();
  if (limits) await served[0].queue.limits.set(limits);
  const jobs = Array.from({ length: total / queues }, (_, i) => ({
    payload: 0,
    ...(groups && { group: `g${i % groups}` }),
  }));
  await Promise.all(served.map(({ queue }) => queue.enqueueMany(jobs)));
  const worker = new Worker(served, isShared ? { concurrency: slots } : {});
  await worker.start();
  const perSecond = (total / ((await ended.promise) - startedAt)) * 1_000;
  await worker.stop();
  served.forEach(({ queue }) => queue.close());
  return { perSecond, p99: p99(waits) };
}

function deferred() {
  const made = {};
  made.promise = new Promise((resolve) => (made.resolve = resolve));
  return made;
}

/** Returns the share of a bare loop that each worker reaches, and its 99th percentile from claim to start. */
async function measure(redis, { slots, handlerMs }, workers) {
  const total = Math.ceil(ROUND_MS / handlerMs) * slots;
  const bares = [];
  const runs = workers.map(() => []);
  for (let round = -1; round < ROUNDS; round++) {
    const handler = () => sleep(handlerMs);
    const bare = await runBareLoop({ concurrency: slots, total, handler, monotonicUs });
    for (const [i, options] of workers.entries()) {
      const run = await runWorker(redis, { slots, handlerMs, total, ...options });
      if (round >= 0) runs[i].push(run); // the first round warms up
    }
    if (round >= 0) bares.push((total / bare.us) * 1e6);
  }
  return runs.map((each) => ({
    share: (median(each.map(({ perSecond }) => perSecond)) / median(bares)).toFixed(2),
    p99: median(each.map(({ p99: ms }) => ms)),
  }));
}

const server = await startRedisServer();
const redis = new Redis(server.url, { maxRetriesPerRequest: null });
console.log(
  '| slots, handler | queues | `prefetch: 0` | prefetched | claim to start, p99, ms |\n| --- | --- | --- | --- | --- |',
);
for (const slots of SLOTS) {
  for (const handlerMs of HANDLERS_MS) {
    for (const queues of QUEUES) {
      const [without, ahead] = await measure(redis, { slots, handlerMs }, [{ queues, prefetch: 0 }, { queues }]);
      const cells = [
        `${slots}, ${handlerMs} ms`,
        queues,
        without.share,
        ahead.share,
        `${without.p99} / ${ahead.p99}`,
      ];
      console.log(`| ${cells.join(' | ')} |`);
    }
  }
}
console.log(`\n| slots, handler | ${KINDS.map(([name]) => name).join(' | ')} |\n| --- | --- | --- | --- | --- |`);
for (const slots of SLOTS) {
  for (const handlerMs of HANDLERS_MS) {
    const workers = KINDS.map(([, kind]) => ({ queues: 1, isShared: false, ...kind }));
    const shares = await measure(redis, { slots, handlerMs }, workers);
    console.log(`| ${slots}, ${handlerMs} ms | ${shares.map(({ share }) => share).join(' | ')} |`);
  }
}
redis.disconnect();
await server.stop();
