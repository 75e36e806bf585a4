// node bench/slots/shared.mjs: how much of its slots a worker uses if its queues share a `concurrency` of the process.
// Compares a worker with and without prefetched jobs to the same handlers in a bare loop. Prints the table of
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
const ROUNDS = 3;
const ROUND_MS = 400;

const monotonicUs = () => performance.now() * 1_000;
const p99 = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)];

/** Returns the jobs of a second, and the 99th percentile from claim to start, in ms. */
async function runWorker(redis, { queues, slots, handlerMs, total, prefetch }) {
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
  const jobs = Array.from({ length: total / queues }, () => ({ payload: 0 }));
  await Promise.all(served.map(({ queue }) => queue.enqueueMany(jobs)));
  const worker = new Worker(served, { concurrency: slots });
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

async function measure(redis, cell) {
  const runs = { bare: [], without: [], ahead: [] };
  for (let round = -1; round < ROUNDS; round++) {
    const handler = () => sleep(cell.handlerMs);
    const bare = await runBareLoop({ concurrency: cell.slots, total: cell.total, handler, monotonicUs });
    const without = await runWorker(redis, { ...cell, prefetch: 0 });
    const ahead = await runWorker(redis, cell);
    if (round < 0) continue; // it warms up
    runs.bare.push((cell.total / bare.us) * 1e6);
    runs.without.push(without);
    runs.ahead.push(ahead);
  }
  const bare = median(runs.bare);
  const of = (each) => ({
    share: (median(each.map(({ perSecond }) => perSecond)) / bare).toFixed(2),
    p99: median(each.map(({ p99: ms }) => ms)),
  });
  return { without: of(runs.without), ahead: of(runs.ahead) };
}

const server = await startRedisServer();
const redis = new Redis(server.url, { maxRetriesPerRequest: null });
console.log(
  '| slots, handler | queues | `prefetch: 0` | prefetched | claim to start, p99, ms |\n| --- | --- | --- | --- | --- |',
);
for (const slots of SLOTS) {
  for (const handlerMs of HANDLERS_MS) {
    for (const queues of QUEUES) {
      const total = Math.ceil(ROUND_MS / handlerMs) * slots;
      const { without, ahead } = await measure(redis, { queues, slots, handlerMs, total });
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
redis.disconnect();
await server.stop();
