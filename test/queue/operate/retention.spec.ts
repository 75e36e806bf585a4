import { afterEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { awaitAll } from '#queue/results/awaited-results.js';
import { defineJob } from '#queue/enqueue/define-job.js';
import type { JobQueue } from '#queue/job-queue.js';
import { silentLogger } from '#queue/runtime/logger.js';
import type { HandlerOptions } from '#worker/handlers/handler.js';
import { Sweeper } from '#worker/maintenance/sweeper.js';
import { Worker } from '#worker/worker.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import type { TestQueue } from '../../support/queue/queue-state.js';
import { WorkerProcess } from '../../support/worker/worker-process.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';
import { inside } from '../../support/queue/inside.js';

/** Makes one job of each outcome, and everything else that a queue may hold meanwhile. */
async function useAll(queue: JobQueue): Promise<void> {
  const stays = 60_000;
  await queue.enqueue(1, { id: 'completed', unique: { key: 'k1', for: 'unfinished' } });
  await queue.complete((await queue.claim())!, { a: 'result' });
  await queue.enqueue(1, { id: 'window', unique: { key: 'k2', for: { ms: stays } } });
  await queue.complete((await queue.claim())!);
  await queue.enqueue(1, { id: 'failed', unique: { key: 'k3', for: 'unfinished' } });
  await queue.fail((await queue.claim())!, new Error('once'), { delayMs: stays });
  await queue.reschedule('failed', { delayMs: 0 });
  await queue.fail((await queue.claim())!, new Error('no'), { final: true });
  await queue.enqueue(1, { id: 'urgent', priority: 5 });
  await queue.cancel('urgent');
  await queue.enqueue(1, { id: 'later', delayMs: stays, unique: { key: 'k4', for: 'pending' } });
  await queue.cancel('later');
}

function fail(): never {
  throw new Error('no');
}

const serving = new Set<Worker>();

afterEach(async () => {
  await Promise.all([...serving].map((worker) => worker.stop()));
  serving.clear();
});

/** Starts two workers whose handlers have attempt limits of their own. */
async function serve(queue: JobQueue): Promise<Worker[]> {
  const workers = [1, 2].map(
    () =>
      new Worker([
        {
          queue,
          handlers: { fails: { handle: fail, maxAttempts: 1 }, works: { handle: () => 'done', maxAttempts: 1 } },
        },
      ]),
  );
  workers.forEach((worker) => serving.add(worker));
  await Promise.all(workers.map((worker) => worker.start()));
  return workers;
}

/** Ends three jobs in each way that a job can end. */
async function endInEachWay(queue: JobQueue): Promise<void> {
  const jobs = ['works', 'fails'].flatMap((name) => [1, 2, 3].map((payload) => ({ payload, name })));
  await Promise.allSettled((await queue.enqueueMany(jobs)).map((job) => job.result()));
  for (const payload of [1, 2, 3]) {
    const job = await queue.enqueue(payload, { name: 'works', delayMs: 60_000 });
    await queue.cancel(job.id);
  }
}

/** Ends the lifetime of everything that has one. */
async function passTime(state: TestQueue): Promise<void> {
  const base = state.keys.jobPrefix.slice(0, -'job:'.length);
  for (const key of Object.keys(await state.snapshot())) {
    if ((await state.redis.pttl(base + key)) > 0) {
      await state.redis.del(base + key);
    }
  }
  for (const key of [state.keys.uniqueExpiries, state.keys.endedIds, state.keys.dead]) {
    for (const member of await state.ranked(key)) {
      await state.redis.zadd(key, 1, member);
    }
  }
}

/** Sweeps as a process that sweeps often, and leaves no tidying to another. */
async function sweep(queue: JobQueue): Promise<void> {
  await new Sweeper([queue], 1, silentLogger).runOnce();
}

/**
 * The data of an abandoned queue that operators can still read expires. The history lives 72 hours, announcements of
 * workers minutes.
 */
const FOR_OPERATORS = /^(history|worker_details)/;

/**
 * Returns the keys that live longer than half a minute. Kept replies to claims, and evicted jobs, expire sooner.
 */
async function keysOf(state: TestQueue): Promise<string[]> {
  const base = state.keys.jobPrefix.slice(0, -'job:'.length);
  const keys = Object.keys(await state.snapshot());
  const lives = await Promise.all(keys.map((key) => state.redis.pttl(base + key)));
  const lasting = keys.filter((key, i) => lives[i] === -1 || (lives[i]! > 30_000 && !FOR_OPERATORS.test(key)));
  return lasting.filter((key) => key !== 'actions'); // the log of a purge stays
}

describe('nothing but the counters is left', () => {
  it('when all retention has run, without another job that ends', async () => {
    const { queue, state } = coreQueue({ deadLetterAgeMs: 60_000 });
    await useAll(queue);
    await sweep(queue);
    expect(await queue.stats()).toMatchObject({ completed: 2, failed: 1, cancelled: 2 });
    await passTime(state);
    await sweep(queue);
    expect(await keysOf(state)).toEqual(['sequence', 'stats']);
  });

  it('after a worker has come and gone', async () => {
    const { queue, state } = coreQueue({ deadLetterAgeMs: 60_000 });
    const login = { handle: () => 'in' };
    const worker = new Worker([
      { queue, handlers: { [queue.name]: { handle: fail, maxAttempts: 1, maxCrashes: 1 }, login } },
    ]);
    await worker.start();
    const job = await queue.enqueue(1);
    await job.result().catch(() => undefined);
    const logins = await queue.enqueueMany([1, 2, 3].map((payload) => ({ payload, name: 'login' })));
    await awaitAll(logins);
    await sweep(queue);
    await worker.stop();
    await passTime(state);
    await sweep(queue);
    expect(await keysOf(state)).toEqual(['sequence', 'stats']);
  });

  it('after a purge of keys that were used by hand', async () => {
    const { queue, state } = coreQueue();
    await useAll(queue);
    await queue.enqueue(1);
    await queue.complete((await queue.claim())!);
    await queue.enqueueMany([{ payload: 1 }, { payload: 1, priority: 1 }, { payload: 1, delayMs: 60_000 }]);
    await sweep(queue);
    await queue.purge({ confirm: queue.name });
    expect(await keysOf(state)).toEqual(['sequence', 'stats']);
  });

  it('after workers have come and gone, and then a purge', async () => {
    const { queue, state } = coreQueue();
    const workers = await serve(queue);
    await endInEachWay(queue);
    await sweep(queue);
    await Promise.all(workers.map((worker) => worker.stop()));
    expect(await keysOf(state)).toEqual(expect.arrayContaining(['dead', 'handler_limits', 'retention']));
    await queue.purge({ confirm: queue.name });
    expect(await keysOf(state)).toEqual(['sequence', 'stats']);
  });

  it('once the workers stop that a purge found at work, without a sweep', async () => {
    const { queue, state } = coreQueue();
    const workers = await serve(queue);
    await endInEachWay(queue);
    await sweep(queue);
    await queue.purge({ confirm: queue.name });
    const served = ['handler_limits', 'names', 'retention', 'sequence', 'stats', 'workers'];
    expect((await keysOf(state)).filter((key) => key !== 'wake')).toEqual(served);
    await endInEachWay(queue); // they work on
    await queue.purge({ confirm: queue.name });
    await Promise.all(workers.map((worker) => worker.stop()));
    expect(await keysOf(state)).toEqual(['sequence', 'stats']);
  });

  it('in time where a worker is killed before it learns of a purge', async () => {
    const { queue, state } = coreQueue();
    const worker = await WorkerProcess.start({ queue: queue.name, workMs: 1 });
    await (await queue.enqueue(1)).result();
    await worker.signal('SIGKILL');
    await queue.purge({ confirm: queue.name });
    expect(await keysOf(state)).toEqual(['handler_limits', 'names', 'retention', 'sequence', 'stats', 'workers']);
    await passTime(state);
    expect(await keysOf(state)).toEqual(['sequence', 'stats']);
  });

  it('but a pause, which is the word of an operator', async () => {
    const { queue, state } = coreQueue();
    await queue.pause();
    await sweep(queue);
    await queue.purge({ confirm: queue.name });
    expect(await keysOf(state)).toEqual(['settings']);
    await queue.resume();
  });
});

describe('a completed job is kept', () => {
  const Thumbnail = defineJob('job', { payload: z.null(), resultTtlMs: 30_000 });

  it.each<[string, HandlerOptions, object, number]>([
    ['the queue', {}, {}, 90_000],
    ['the handler', { resultTtlMs: 60_000 }, {}, 60_000],
    ['the enqueue', { resultTtlMs: 60_000 }, { resultTtlMs: 20_000 }, 20_000],
  ])('as long as %s says', async (_who, options, enqueued, ttl) => {
    const queue = newQueue({ resultTtlMs: 90_000 });
    await startWorker([{ queue, handlers: { job: { handle: () => 'done', ...options } } }]);
    const job = await queue.enqueue(null, { name: 'job', ...enqueued });
    expect(await job.result()).toBe('done');
    await expectTtl(queue, job.id, ttl);
  });

  it('as long as the definition says, over the handler', async () => {
    const queue = newQueue({ resultTtlMs: 90_000 });
    await startWorker([{ queue, handlers: { job: { handle: () => 'done', resultTtlMs: 60_000 } } }]);
    const job = await queue.enqueue(Thumbnail, null);
    expect(await job.result()).toBe('done');
    await expectTtl(queue, job.id, 30_000);
  });

  it.each<[string, HandlerOptions, object]>([
    ['the handler', { keepResult: false }, {}],
    ['the enqueue', {}, { keepResult: false }],
  ])('without its result where %s says so', async (_who, options, enqueued) => {
    const queue = newQueue();
    await startWorker([{ queue, handlers: { job: { handle: () => 'a secret', ...options } } }]);
    const job = await queue.enqueue(null, { name: 'job', ...enqueued });
    expect(await job.result()).toBeUndefined();
    const scripts = await inside(queue).scripts();
    expect(await inside(queue).connection.client.hexists(scripts.keys.job(job.id), 'result')).toBe(0);
  });
});

async function expectTtl(queue: JobQueue, id: string, ttl: number): Promise<void> {
  const { keys } = await inside(queue).scripts();
  const left = await inside(queue).connection.client.pttl(keys.job(id));
  expect(left).toBeLessThanOrEqual(ttl);
  expect(left).toBeGreaterThan(ttl - 10_000);
}
