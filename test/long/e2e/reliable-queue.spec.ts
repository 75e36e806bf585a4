// The flow of the reliable-queue article with processes that really die, and each of the article's own bugs.
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Redis } from 'ioredis';
import { JobQueue, JobQueueModule, JobQueueService } from 'nest-job-queue';
import { SendEmail } from '../../../examples/reliable-queue/src/jobs.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startProcess, type ShopProcess } from '../../support/browser/shop.js';
import { inside } from '../../support/queue/inside.js';

// Processes are started and killed, on a machine that also runs the other tests.
jest.setTimeout(120_000);

const SOON = { timeoutMs: 60_000 };
const ADA = 'ada@example.com';

let env: Record<string, string>;
let redis: Redis;
let app: INestApplicationContext;
let jobs: JobQueueService;
let workers: ShopProcess;

beforeAll(async () => {
  const server = await startOwnRedis();
  env = { REDIS_URL: server.url };
  redis = connect({}, server.url);
  app = await NestFactory.createApplicationContext(JobQueueModule.forRoot({ redis, worker: false }), {
    logger: false,
  });
  jobs = app.get(JobQueueService);
  const args = ['--import', './test/support/typescript.mjs', 'examples/reliable-queue/src/worker.ts'];
  workers = startProcess('node', args, env);
  await workers.prints(/All 2 worker processes run/);
}, 60_000);

afterAll(() => app.close());

/** Waits until a job has ended, however; answers all that is known of it. */
async function ended(payload: { to: string; trouble?: 'error' | 'crash' | 'slow'; times?: number }) {
  const job = await jobs.enqueue(SendEmail, payload);
  await job.result(SOON).catch(() => undefined);
  return (await job.get())!;
}

describe("the article's flow:", () => {
  it('a job whose worker is killed is reclaimed and done by another, the crash kept with its worker', async () => {
    const job = await ended({ to: ADA, trouble: 'crash', times: 1 });
    expect(job).toMatchObject({ status: 'completed', attempts: 2, crashes: 1, errors: 0 });
    const [crash] = job.attemptLog;
    expect(crash).toMatchObject({ attempt: 1, outcome: 'crash', worker: expect.stringMatching(/^[^:]+:\d+:\w+$/) });
    const pid = Number(crash!.worker!.split(':')[1]);
    await workers.prints(new RegExp(`worker-\\d \\(${pid}\\) was ended by SIGKILL; restarting it in 100 ms`));
    expect((job.result as { sentBy: number }).sentBy).not.toBe(pid);
  });

  it('a job that kills every worker counts each recovery as a failure, and ends as a dead letter', async () => {
    const job = await ended({ to: ADA, trouble: 'crash', times: 9 });
    expect(job).toMatchObject({ status: 'failed', attempts: 3, crashes: 3 });
    expect(job.attemptLog.map(({ outcome }) => outcome)).toEqual(['crash', 'crash', 'crash']);
    expect(new Set(job.attemptLog.map(({ worker }) => worker)).size).toBe(3);
    expect(job.lastError).toMatch(/its worker died 3 times/);
  });

  it('a job that fails is tried again after a backoff, and every error is kept', async () => {
    const job = await ended({ to: ADA, trouble: 'error', times: 9 });
    expect(job).toMatchObject({ status: 'failed', attempts: 3, errors: 3, crashes: 0 });
    expect(job.attemptLog.map(({ error }) => error!.message)).toEqual(
      Array.from({ length: 3 }, () => 'the mail server does not answer'),
    );
    const waits = job.attemptLog.slice(1).map((each, i) => +each.startedAt - +job.attemptLog[i]!.endedAt);
    // 200 ms and 400 ms, less the jitter of a fifth.
    expect(waits[0]).toBeGreaterThanOrEqual(160);
    expect(waits[1]).toBeGreaterThanOrEqual(320);
  });

  it('dead letters are looked at, repaired and redriven', async () => {
    const { id } = await ended({ to: ADA, trouble: 'error', times: 9 });
    const letters = jobs.queue(SendEmail.name).deadLetters;
    const { jobs: listed } = await letters.list({ error: 'mail server' });
    expect(listed.map((each) => each.id)).toContain(id);
    await letters.redrive(id, { payload: { to: ADA } });
    expect(await jobs.result(SendEmail, id, SOON)).toEqual({ sentBy: expect.any(Number) });
    expect(await jobs.get(SendEmail, id)).toMatchObject({ status: 'completed', attempts: 1 });
  });

  it('a job that takes longer than the timeout keeps its claim while its worker lives', async () => {
    const job = await ended({ to: ADA, trouble: 'slow', times: 1 });
    expect(job).toMatchObject({ status: 'completed', attempts: 1, crashes: 0 });
    expect(+job.completedAt! - +job.claimedAt!).toBeGreaterThan(2_000); // visibilityMs: 1,000
  });

  it('is one command', async () => {
    expect(await workers.kill('SIGTERM')).toBe(0);
    const demo = startProcess('node', ['scripts/run-example.mjs', 'reliable-queue'], env);
    expect(await demo.exited).toBe(0);
    expect(demo.output).toMatch(/grace@example\.com: completed after 2 attempt/);
    expect(demo.output).toMatch(
      /alan@example\.com: failed after 3 attempt.*(\n  attempt \d, worker \S+: crash.*){3}/,
    );
    expect(demo.output).toMatch(/Repaired and redriven: sent by process \d+/);
  });
});

/** Makes a queue that the test claims from, as a worker would. */
function ownQueue(): JobQueue {
  return new JobQueue(redis, uniqueQueueName());
}

/** Makes a job whose claim has expired. */
async function stuck(queue: JobQueue) {
  const job = await queue.enqueue({});
  const claim = (await queue.claim())!;
  const { keys } = await inside(queue).scripts();
  expect(await redis.zadd(keys.claims, 'XX', 'CH', 1, job.id)).toBe(1);
  return { job, claim };
}

describe("the article's bugs are not here:", () => {
  it('there is no claim without a time: a worker that dies right after it loses nothing', async () => {
    const queue = ownQueue();
    const { id } = await queue.enqueue({});
    await queue.claim(); // and dies
    const { keys } = await inside(queue).scripts();
    const [[seconds], expiry] = await Promise.all([redis.time(), redis.zscore(keys.claims, id)]);
    expect(Number(expiry) / 1_000).toBeGreaterThan(Number(seconds));
    expect((await queue.get(id))!.worker).toBeDefined();
  });

  it('a worker that was too slow cannot acknowledge the claim of its successor', async () => {
    const queue = ownQueue();
    const { job, claim } = await stuck(queue);
    await queue.reclaim();
    const successor = (await queue.claim())!;
    expect(successor.id).toBe(job.id);
    expect(await queue.complete(claim, 'late')).toBe(false);
    expect(await job.get()).toMatchObject({ status: 'processing' });
    expect(await queue.complete(successor, 'in time')).toBe(true);
    expect(await job.get()).toMatchObject({ status: 'completed', result: 'in time' });
  });

  it('a failed job goes to the end of the line and delays no other job', async () => {
    const queue = ownQueue();
    const failing = await queue.enqueue({});
    const other = await queue.enqueue({});
    await queue.fail((await queue.claim())!, new Error('not now'));
    expect((await queue.claim())!.id).toBe(other.id);
    expect((await queue.claim())!.id).toBe(failing.id);
  });

  it('two recoveries at once put a job back once', async () => {
    const queue = ownQueue();
    const { job } = await stuck(queue);
    const sweeps = await Promise.all([queue.reclaim(), queue.reclaim()]);
    expect(sweeps.flatMap(({ reclaimed }) => reclaimed.map(({ id }) => id))).toEqual([job.id]);
    expect(await queue.stats()).toMatchObject({ pending: 1, processing: 0 });
    expect(await job.get()).toMatchObject({ crashes: 1 });
  });

  it('the data of a job go with it: no counter of attempts is left behind', async () => {
    const queue = ownQueue();
    await queue.enqueue({}, { resultTtlMs: 1_000 });
    await queue.complete((await queue.claim())!, null);
    const { keys } = await inside(queue).scripts();
    const left = await redis.keys(`${keys.stats.replace(/stats$/, '')}*`);
    const ofTheJob = left.filter((key) => key.includes(':job:'));
    expect(await Promise.all(ofTheJob.map((key) => redis.pttl(key)))).not.toContain(-1);
    expect(left.filter((key) => /attempts|errors/.test(key))).toEqual([]);
  });
});
