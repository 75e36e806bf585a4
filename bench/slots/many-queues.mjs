// What a job costs Node if a worker with a `concurrency` of the process serves more and more queues. Ten of them have jobs,
// and have been claimed from before. Prints µs of CPU time for each job. Needs `npm run build`.
//
//   node bench/slots/many-queues.mjs [--beside CHECKOUT] [--queues 10,5000]
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { pathToFileURL } from 'node:url';
import { startRedisServer } from '../../scripts/redis/redis-server.mjs';
import { median } from '../report/stats.mjs';

const BUSY = 10;
const SLOTS = 20;
const JOBS = 4_000;
const ROUNDS = 5;

const { beside, queues } = parseArgs({
  options: { beside: { type: 'string' }, queues: { type: 'string' } },
}).values;
const QUEUES = (queues ?? '10,300,5000').split(',').map(Number);
const roots = [
  ...(beside === undefined ? [] : [pathToFileURL(`${resolve(beside)}/`)]),
  new URL('../../', import.meta.url),
];
const cores = await Promise.all(
  roots.map(async (root) => ({
    ...(await import(new URL('dist/esm/core.js', root))),
    ...createRequire(new URL('package.json', root))('ioredis'),
  })),
);
const server = await startRedisServer();

/** Returns the CPU time of this process for each job, in µs. */
async function run({ JobQueue, Worker, Redis }, count) {
  const redis = new Redis(server.url, { maxRetriesPerRequest: null });
  await redis.flushall();
  let [done, finish] = [0, undefined];
  const finished = new Promise((end) => (finish = end));
  const handle = async () => {
    await new Promise(setImmediate);
    if (++done === JOBS) finish();
  };
  const served = Array.from({ length: count }, (_, i) => {
    const queue = new JobQueue(redis, `many-${i}`);
    return { queue, handlers: { [queue.name]: handle } };
  });
  const jobs = Array.from({ length: JOBS / BUSY }, () => ({ payload: 0 }));
  const worker = new Worker(served, { concurrency: SLOTS });
  for (const { queue } of served.slice(0, BUSY)) worker.pause(queue.name);
  await worker.start();
  for (const { queue } of served.slice(0, BUSY)) await queue.enqueueMany(jobs);
  await calm(); // the start of the worker does not count
  const cpu = process.cpuUsage();
  worker.resume();
  await finished;
  const { user, system } = process.cpuUsage(cpu);
  await worker.stop();
  served.forEach(({ queue }) => queue.close());
  redis.disconnect();
  return (user + system) / JOBS;
}

/** Waits until this process has nothing to do. */
async function calm() {
  for (;;) {
    const before = process.cpuUsage();
    await sleep(500);
    const { user, system } = process.cpuUsage(before);
    if (user + system < 100_000) return;
  }
}

for (const count of QUEUES) {
  const found = cores.map(() => []);
  for (let round = -1; round < ROUNDS; round++) {
    for (const [i, core] of cores.entries()) {
      const us = await run(core, count);
      if (round >= 0) found[i].push(us); // the first round warms up
    }
  }
  console.log(`${count} queues: ${found.map((each) => median(each).toFixed(1)).join(' / ')} µs for each job`);
}
await server.stop();
