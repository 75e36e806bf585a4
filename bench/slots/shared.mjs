// node bench/slots/shared.mjs: how much of its slots a worker uses if its queues share a `concurrency` of the process.
// Compares a worker with and without prefetched jobs to the same handlers in a bare loop. Then compares queues with limits,
// where nothing is prefetched, and with groups to plain ones. Prints the tables of docs/internals/performance.md. With
// `--beside CHECKOUT` it compares only the last ones, in alternation with another built checkout. Needs `npm run build`.
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { pathToFileURL } from 'node:url';
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
  ['groups of one slot', { groups: 100, limits: { groups: { maxRunning: 1 } } }],
];
const ROUNDS = 3;
const ROUND_MS = 400;

const { beside } = parseArgs({ options: { beside: { type: 'string' } } }).values;

/** Loads a built checkout, with the copy of ioredis that it uses. */
async function load(root) {
  const core = await import(new URL('dist/esm/core.js', root));
  return { ...core, ...createRequire(new URL('package.json', root))('ioredis') };
}

const here = await load(new URL('../../', import.meta.url));

const monotonicUs = () => performance.now() * 1_000;
const p99 = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)];

/** Returns the jobs of a second, and the 99th percentile from claim to start, in ms. */
async function runWorker({
  core = here,
  queues,
  slots,
  handlerMs,
  total,
  prefetch,
  limits,
  groups,
  isShared = true,
}) {
  const { JobQueue, Worker, Redis } = core;
  const redis = new Redis(server.url, { maxRetriesPerRequest: null });
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
  redis.disconnect();
  return { perSecond, p99: p99(waits) };
}

function deferred() {
  const made = {};
  made.promise = new Promise((resolve) => (made.resolve = resolve));
  return made;
}

/** Returns the share of a bare loop that each worker reaches, and its 99th percentile from claim to start. */
async function measure({ slots, handlerMs }, workers) {
  const total = Math.ceil(ROUND_MS / handlerMs) * slots;
  const bares = [];
  const runs = workers.map(() => []);
  for (let round = -1; round < ROUNDS; round++) {
    const handler = () => sleep(handlerMs);
    const bare = await runBareLoop({ concurrency: slots, total, handler, monotonicUs });
    for (const [i, options] of workers.entries()) {
      const run = await runWorker({ slots, handlerMs, total, ...options });
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

async function compareShared() {
  console.log(
    '| slots, handler | queues | `prefetch: 0` | prefetched | claim to start, p99, ms |\n| --- | --- | --- | --- | --- |',
  );
  for (const slots of SLOTS) {
    for (const handlerMs of HANDLERS_MS) {
      for (const queues of QUEUES) {
        const [without, ahead] = await measure({ slots, handlerMs }, [{ queues, prefetch: 0 }, { queues }]);
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
}

/** Prints the share of each kind of queue; beside another checkout that of both: before / now. */
async function compareKinds(before) {
  console.log(`\n| slots, handler | ${KINDS.map(([name]) => name).join(' | ')} |`);
  console.log(`| --- |${' --- |'.repeat(KINDS.length)}`);
  const cores = before ? [before, here] : [here];
  for (const slots of SLOTS) {
    for (const handlerMs of HANDLERS_MS) {
      const workers = KINDS.flatMap(([, kind]) =>
        cores.map((core) => ({ queues: 1, isShared: false, core, ...kind })),
      );
      const found = await measure({ slots, handlerMs }, workers);
      const cells = KINDS.map((_, i) =>
        found
          .slice(i * cores.length, (i + 1) * cores.length)
          .map(({ share }) => share)
          .join(' / '),
      );
      console.log(`| ${slots}, ${handlerMs} ms | ${cells.join(' | ')} |`);
    }
  }
}

if (beside === undefined) await compareShared();
await compareKinds(beside === undefined ? undefined : await load(pathToFileURL(`${resolve(beside)}/`)));
await server.stop();
