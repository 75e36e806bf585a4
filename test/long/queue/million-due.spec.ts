// I4 at full size. Very many due jobs, as after an outage, are moved in slices that block no other client. What a slice
// costs does not depend on their number, so 200,000 do; DUE_JOBS=1000000 takes half a minute.
import { beforeAll, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { JobQueue } from '#queue/job-queue.js';
import { silentLogger } from '#queue/runtime/logger.js';
import { Sweeper } from '#worker/maintenance/sweeper.js';
import { Worker } from '#worker/worker.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { sleep } from '../../support/faults/wait.js';
import { inside } from '../../support/queue/inside.js';

const DUE = Number(process.env.DUE_JOBS ?? 1_000_000);
/** Wall clock: a busy machine may interrupt the server. A script without a bound would take a second. */
const LONGEST_CALL_MS = 400;

/** Plants scheduled jobs as enqueue.lua writes them; numbered from ARGV[1] to ARGV[2]. */
const PLANT = `
  for i = ARGV[1], ARGV[2] do
    redis.call('HSET', KEYS[2] .. i, 'id', i, 'payload', '{}', 'status', 'scheduled', 'attempts', '0', 'due_at_ms', i,
      'enqueued_at_ms', '1', 'name', ARGV[3])
    redis.call('ZADD', KEYS[1], i, i)
  end`;

let redis: Redis;
let other: Redis;

beforeAll(async () => {
  const server = await startOwnRedis();
  redis = connect({}, server.url);
  other = connect({}, server.url);
});

async function plant(queue: JobQueue): Promise<void> {
  const { keys } = await inside(queue).scripts();
  const step = 20_000;
  for (let first = 1; first <= DUE; first += step) {
    await redis.eval(PLANT, 2, keys.scheduled, keys.jobPrefix, first, first + step - 1, queue.name);
  }
}

/** Asks the server something all the time, as another application would; answers what to stop it with. */
function askThroughout(): () => Promise<{ answers: number; longestMs: number }> {
  const end = new AbortController();
  const asked = (async () => {
    const seen = { answers: 0, longestMs: 0 };
    while (!end.signal.aborted) {
      const started = performance.now();
      await other.ping();
      seen.answers++;
      seen.longestMs = Math.max(seen.longestMs, performance.now() - started);
      await sleep(2);
    }
    return seen;
  })();
  return async () => {
    end.abort();
    return asked;
  };
}

/** Returns the calls that took the server longer than `LONGEST_CALL_MS`. */
async function slowCalls(): Promise<string[]> {
  const log = (await other.slowlog('GET', 100)) as [number, number, number, string[]][];
  return log.map(([, , micros, [command, ...args]]) => `${command} ${args[0]}: ${micros / 1_000} ms`);
}

it('hundreds of thousands of jobs that are due at once are moved by sweeps beside a worker, all of them, while no call takes long and others are answered', async () => {
  const queue = new JobQueue(redis, uniqueQueueName());
  await plant(queue);
  await other.config('SET', 'slowlog-log-slower-than', LONGEST_CALL_MS * 1_000);
  await other.slowlog('RESET');
  const worker = new Worker([{ queue, concurrency: 20, handlers: { [queue.name]: () => sleep(1) } }], {
    sweepIntervalMs: 0,
  });
  const sweeper = new Sweeper([queue], 5_000, silentLogger);
  const stopAsking = askThroughout();
  await worker.start();
  let runs = 0;
  while ((await queue.stats()).scheduled > 0) {
    await sweeper.runOnce();
    runs++;
  }
  await worker.stop();
  const { answers, longestMs } = await stopAsking();
  const { pending, processing, scheduled, completed, failed, totals } = await queue.stats();
  expect({ scheduled, processing, failed }).toEqual({ scheduled: 0, processing: 0, failed: 0 });
  expect(totals.completed).toBeGreaterThan(completed); // more than the history keeps: the worker worked meanwhile
  expect(pending + totals.completed!).toBe(DUE);
  expect(await slowCalls()).toEqual([]);
  expect(longestMs).toBeLessThan(2_000);
  expect(answers).toBeGreaterThan(runs);
}, 240_000);
