// The demo of the Streams article in its four processes, and each of the article's own bugs.
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Redis } from 'ioredis';
import { JobQueueModule, JobQueueService, type JobHandle } from 'nest-job-queue';
import { Fibonacci, Sleep } from '../../../examples/streams-article/src/jobs.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';
import { buildExample, startProcess, type ShopProcess } from '../../support/browser/shop.js';
import { patiently } from '../../support/faults/wait.js';
import { inside } from '../../support/queue/inside.js';

// Four processes are started, on a machine that also runs the other tests.
jest.setTimeout(120_000);

const SOON = { timeoutMs: 60_000 };

let env: Record<string, string>;
let redis: Redis;
let app: INestApplicationContext;
let jobs: JobQueueService;
let workers: ShopProcess;

/** From TypeScript, as in development; the thread's file too. */
const FROM_TYPESCRIPT = ['--import', './test/support/typescript.mjs', 'examples/streams-article/src/worker.ts'];
const COMPILED = ['examples/streams-article/dist/worker.js'];

async function startWorkers(args: string[]): Promise<void> {
  workers = startProcess('node', args, env);
  await workers.prints(/All 4 worker processes run/);
}

async function running(job: JobHandle): Promise<void> {
  await patiently(async () => (await job.get())?.status === 'processing');
}

/** Returns when jobs ran, by the server's clock, and in how many processes. */
async function times(handles: JobHandle[]) {
  const records = await Promise.all(handles.map(async (job) => (await job.get())!));
  const claimed = records.map(({ claimedAt }) => Number(claimedAt));
  const completed = records.map(({ completedAt }) => Number(completedAt));
  return {
    allAtOnce: Math.max(...claimed) < Math.min(...completed),
    processes: new Set(records.map(({ worker }) => worker)).size,
    took: Math.max(...completed) - Math.min(...claimed),
    longest: Math.max(...completed.map((at, i) => at - claimed[i]!)),
  };
}

describe('the Streams article', () => {
  beforeAll(async () => {
    // The example's queues always have the same names.
    const server = await startOwnRedis();
    env = { REDIS_URL: server.url };
    redis = connect({}, server.url);
    app = await NestFactory.createApplicationContext(JobQueueModule.forRoot({ redis, worker: false }), {
      logger: false,
    });
    jobs = app.get(JobQueueService);
    await startWorkers(FROM_TYPESCRIPT);
  }, 60_000);

  afterAll(() => app.close());

  describe("the article's demo", () => {
    it('sleeps in four processes at once: all in the time of the longest', async () => {
      const handles = await jobs.enqueueMany(
        Sleep,
        [600, 800, 1_000, 1_200].map((ms) => ({ payload: { ms } })),
      );
      await Promise.all(handles.map((job) => job.result(SOON)));
      const { allAtOnce, took } = await times(handles);
      expect(allAtOnce).toBe(true);
      expect(took).toBeLessThan(1.5 * 1_200); // one after the other: three times the longest
    });

    it('calculates the Fibonacci numbers of the article and hands them to the caller', async () => {
      // The shortest last: it must not be done before the others are begun.
      const reversed = await jobs.enqueueMany(
        Fibonacci,
        places()
          .map((n) => ({ payload: { n } }))
          .toReversed(),
      );
      const handles = reversed.toReversed();
      const numbers = await Promise.all(handles.map((job) => job.result(SOON)));
      expect(numbers.map((digits) => digits.length)).toEqual([20_899, 41_798, 62_696, 83_595]);
      // The article's function takes one step more: what it prints is the number after each.
      const after = places().map((n) => fibonacci(n + 1).toString());
      expect(after.map((digits) => digits.slice(-6))).toEqual(['537501', '590626', '800001', '337501']);
      const { took, longest, ...how } = await times(handles);
      expect(how).toEqual({ allAtOnce: true, processes: 4 });
      // Near that of the longest job, also with two cores for four: sequential jobs would take twice that.
      expect(took).toBeLessThan(1.5 * longest);
      expect(numbers.map((digits, i) => digits === fibonacci(places()[i]!).toString())).not.toContain(false);
    });

    it('raises the error of a job at the caller', async () => {
      const job = await jobs.enqueue(Sleep, { ms: -1 });
      await expect(job.result(SOON)).rejects.toMatchObject({
        name: 'JobFailedError',
        errorName: 'RangeError',
        reason: 'nobody sleeps backwards',
      });
    });

    it('stops when the running job is done, and runs later jobs after the restart', async () => {
      const last = await jobs.enqueue(Sleep, { ms: 800 });
      await running(last);
      expect(await workers.kill('SIGTERM')).toBe(0);
      expect(await last.get()).toMatchObject({ status: 'completed', attempts: 1, interruptions: 0 });

      const meanwhile = await jobs.enqueue(Fibonacci, { n: 90 });
      expect(await meanwhile.get()).toMatchObject({ status: 'pending' });
      buildExample('streams-article', 'worker.js');
      await startWorkers(COMPILED);
      expect(await meanwhile.result(SOON)).toBe('2880067194370816120');
    });

    it('is one command', async () => {
      // On a server of its own: the workers here serve queues of the same names.
      const server = await startOwnRedis();
      const args = ['scripts/run-example.mjs', 'streams-article', '0.01'];
      const demo = startProcess('node', args, { REDIS_URL: server.url });
      expect(await demo.exited).toBe(0);
      const numbers = places(0.01).map((n) => `F(${n}) ends with ${String(fibonacci(n)).slice(-6)}`);
      const said = [
        ...numbers,
        'All workers have stopped.',
        'Workers are running again.',
        'What was enqueued meanwhile is done.',
        'An error comes to the caller: Job',
        'All processes have stopped.',
      ];
      // In this order.
      expect(said.filter((line) => demo.output.includes(line))).toEqual(said);
      expect(said.map((line) => demo.output.indexOf(line))).toEqual(
        said.map((line) => demo.output.indexOf(line)).toSorted((one, other) => one - other),
      );
      // What was done can be looked at afterwards, with who did it.
      expect(demo.output.match(/^ {2}sleep \{"ms":\d+\}: \d+ ms, by \S+:\d+:\w+$/gm)).toHaveLength(5);
      expect(demo.output.match(/^ {2}fibonacci \{"n":\d+\}: \d+ ms, by \S+:\d+:\w+$/gm)).toHaveLength(4);
    });
  });

  describe("the article's bugs are not here:", () => {
    it('a failed job is tried again, then kept aside, and none stays unacknowledged', async () => {
      const job = await jobs.enqueue(Sleep, { ms: -1 });
      await expect(job.result(SOON)).rejects.toThrow();
      const record = (await job.get())!;
      expect(record).toMatchObject({ status: 'failed', attempts: 2, errors: 2 });
      expect(record.attemptLog.map(({ outcome }) => outcome)).toEqual(['error', 'error']);
      expect(await jobs.queue('sleep').stats()).toMatchObject({ processing: 0, pending: 0, expiredClaims: 0 });
    });

    it('a job with an unknown name harms no worker', async () => {
      const unknown = await jobs.enqueue('dance', null, { queue: 'sleep' });
      await workers.prints(/has the name "dance", which no handler of this worker knows/);
      const known = await Promise.all([1, 2, 3, 4, 5].map(() => jobs.enqueue(Sleep, { ms: 1 })));
      await Promise.all(known.map((job) => job.result(SOON)));
      expect(workers.output).not.toMatch(/restarting it/);
      expect(await unknown.get()).toMatchObject({ status: 'pending' });
      await jobs.cancel('sleep', unknown.id);
    });

    it('a result of nothing comes to the caller', async () => {
      const job = await jobs.enqueue(Sleep, { ms: 1 });
      expect(await job.result(SOON)).toBeUndefined();
    });

    it('a timeout is no result', async () => {
      const job = await jobs.enqueue(Sleep, { ms: 500 });
      await expect(job.result({ timeoutMs: 50 })).rejects.toMatchObject({ name: 'JobTimeoutError', timeoutMs: 50 });
      expect(await job.result(SOON)).toBeUndefined(); // it continued
    });

    it('ended jobs do not pile up', async () => {
      const many = await jobs.enqueueMany(
        Sleep,
        Array.from({ length: 150 }, () => ({ payload: { ms: 0 } })),
      );
      await Promise.all(many.map((job) => job.result(SOON)));
      const queue = jobs.queue('sleep');
      expect((await queue.stats()).completed).toBe(100);
      // The record of each is gone too: soon for a job in no list, later for one in a list.
      const { keys } = await inside(queue).scripts();
      const kept = new Set((await queue.list('completed', { limit: 100 })).map(({ id }) => id));
      const left = await Promise.all(
        many.map(async ({ id }) => ({ kept: kept.has(id), ttl: await redis.pttl(`${keys.jobPrefix}${id}`) })),
      );
      const ttls = (wanted: boolean) => left.filter((each) => each.kept === wanted).map(({ ttl }) => ttl);
      expect([ttls(true).length, ttls(false).length]).toEqual([100, 50]);
      expect(Math.min(...ttls(true))).toBeGreaterThan(10_000);
      expect(Math.max(...ttls(true))).toBeLessThanOrEqual(86_400_000);
      expect(Math.max(...ttls(false))).toBeLessThanOrEqual(10_000);
      expect(left.filter(({ ttl }) => ttl === -1)).toEqual([]);
    });
  });
});

/** Returns the places of the numbers that the article has calculated. */
function places(scale = 1): number[] {
  return [100_000, 200_000, 300_000, 400_000].map((n) => n * scale);
}

/** Calculates by doubling: another way than the example's. */
function fibonacci(n: number): bigint {
  let [current, next] = [0n, 1n];
  for (const bit of n.toString(2)) {
    const even = current * (2n * next - current);
    const odd = current * current + next * next;
    [current, next] = bit === '0' ? [even, odd] : [odd, even + odd];
  }
  return current;
}
