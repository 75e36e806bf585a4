// The default retries of a job: in a worker, by hand, and of a client of the Redis pattern.
import { describe, expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import type { Job } from '#worker/handlers/job.js';
import { inside } from '../../support/queue/inside.js';
import { PatternClient } from '../../support/queue/pattern-client.js';
import { DEFAULT_RETRIES } from '../../support/queue/retries.js';
import { connect } from '../../support/redis/redis.js';
import { newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';

const fail = () => {
  throw new Error('no luck');
};

onEachStore('a job without options', () => {
  it('has ten attempts in a worker, and waits longer before each', async () => {
    const queue = newQueue(DEFAULT_RETRIES);
    const { id } = await queue.enqueue({});
    const worker = await startWorker(queue, fail);
    for (let attempt = 1; attempt < 10; attempt++) {
      await worker.event('retry', attempt);
      const { dueAt, lastErrorAt } = (await queue.get(id))!;
      const longest = 1_000 * 2 ** (attempt - 1);
      expect(dueAt!.getTime() - lastErrorAt!.getTime()).toBeGreaterThanOrEqual(0.8 * longest);
      expect(dueAt!.getTime() - lastErrorAt!.getTime()).toBeLessThanOrEqual(longest);
      await queue.promote(id);
    }
    await worker.event('failed');
    expect(await queue.get(id)).toMatchObject({ status: 'failed', attempts: 10 });
    expect(worker.events.every(({ job }) => job.maxAttempts === 10)).toBe(true);
  });

  it.each<[string, QueueOptions, { maxAttempts?: number; backoff?: number }]>([
    ['its handler', {}, { maxAttempts: 2, backoff: 0 }],
    ['its queue', { maxAttempts: 2, backoff: 0 }, {}],
  ])('has the retries of %s', async (_, options, ofHandler) => {
    const queue = newQueue({ ...DEFAULT_RETRIES, ...options });
    const { id } = await queue.enqueue({});
    const worker = await startWorker(queue, { handle: fail, ...ofHandler });
    await worker.event('failed');
    expect(await queue.get(id)).toMatchObject({ attempts: 2 });
  });

  it('is tried three times at once by hand, unless its queue sets more', async () => {
    const plain = newQueue(DEFAULT_RETRIES);
    const own = newQueue({ maxAttempts: 4, backoff: 60_000 });
    expect(await outcomesByHand(plain)).toEqual(['retry', 'retry', 'failed']);
    await own.enqueue({});
    const job = (await own.claim())!;
    expect(job.maxAttempts).toBe(4);
    expect(await own.fail(job, new Error('no luck'))).toBe('retry');
    expect((await own.list('scheduled'))[0]!.dueAt!.getTime()).toBeGreaterThan(Date.now() + 50_000);
  });
});

describe('a job of a client of the Redis pattern', () => {
  it('is tried three times at once, by any worker', async () => {
    const queue = newQueue(DEFAULT_RETRIES);
    const attempts: string[] = [];
    const handle = (job: Job) => {
      attempts.push(`${job.attempt} of ${job.maxAttempts}`);
      return fail();
    };
    const id = await foreignTo(queue).enqueue({ kind: 'email' });
    const worker = await startWorker([{ queue, handlers: { email: handle } }]);
    await worker.event('failed');
    expect(attempts).toEqual(['1 of 3', '2 of 3', '3 of 3']);
    expect(await queue.get(id)).toMatchObject({ status: 'failed', attempts: 3, maxAttempts: 3, name: 'email' });
  });

  it.each<[string, QueueOptions, { maxAttempts?: number; backoff?: number }]>([
    ['its handler', {}, { maxAttempts: 5 }],
    ['the queue', { maxAttempts: 5 }, {}],
  ])('has as many attempts as %s says, without a wait', async (_, options, ofHandler) => {
    const queue = newQueue({ ...DEFAULT_RETRIES, ...options });
    const id = await foreignTo(queue).enqueue({ kind: 'email' });
    const worker = await startWorker([{ queue, handlers: { email: { handle: fail, ...ofHandler } } }]);
    await worker.event('failed');
    expect(await queue.get(id)).toMatchObject({ attempts: 5 });
  });

  it('waits as long as its handler says, and has three attempts', async () => {
    const queue = newQueue(DEFAULT_RETRIES);
    const id = await foreignTo(queue).enqueue({ kind: 'email' });
    const worker = await startWorker([{ queue, handlers: { email: { handle: fail, backoff: 60_000 } } }]);
    for (const attempt of [1, 2]) {
      await worker.event('retry', attempt);
      const { dueAt, lastErrorAt } = (await queue.get(id))!;
      expect(dueAt!.getTime() - lastErrorAt!.getTime()).toBe(60_000);
      await queue.promote(id);
    }
    await worker.event('failed');
  });

  it('keeps its three attempts where a worker without its handler met it first', async () => {
    const queue = newQueue(DEFAULT_RETRIES);
    const id = await foreignTo(queue).enqueue({ kind: 'email' });
    const other = await startWorker([{ queue, handlers: { fax: fail } }]);
    await other.event('released');
    const worker = await startWorker([{ queue, handlers: { email: fail } }]);
    await worker.event('failed');
    expect(await queue.get(id)).toMatchObject({ attempts: 3 });
  });

  it('is a dead letter after two errors and a crash', async () => {
    const queue = newQueue(DEFAULT_RETRIES);
    const handle = (job: Job) => {
      if (job.attempt === 2) worker.worker.pause();
      return fail();
    };
    const id = await foreignTo(queue).enqueue({ kind: 'email' });
    const worker = await startWorker([{ queue, handlers: { email: handle } }]);
    await worker.event('retry', 2);
    await queue.claim();
    await expire(queue, id);
    await queue.reclaim();
    expect(await queue.get(id)).toMatchObject({ status: 'failed', attempts: 3, errors: 2, crashes: 1 });
  });

  it('is a dead letter after its third crash by hand', async () => {
    const queue = newQueue({ ...DEFAULT_RETRIES, maxCrashes: 9 });
    const id = await foreignTo(queue).enqueue({});
    for (let crashes = 0; crashes < 3; crashes++) {
      await queue.claim();
      await expire(queue, id);
      await queue.reclaim();
    }
    expect(await queue.get(id)).toMatchObject({
      status: 'failed',
      lastError: expect.stringMatching(/attempt 3 \(maxAttempts 3\)/),
    });
  });
});

async function outcomesByHand(queue: JobQueue): Promise<string[]> {
  await queue.enqueue({});
  const outcomes: string[] = [];
  for (let job = await queue.claim(); job; job = await queue.claim()) {
    expect(job.maxAttempts).toBe(3);
    outcomes.push(await queue.fail(job, new Error('no luck')));
  }
  return outcomes;
}

function foreignTo(queue: JobQueue): PatternClient {
  return new PatternClient(connect(), connect(), queue.name);
}

async function expire(queue: JobQueue, id: string): Promise<void> {
  await connect().zadd((await inside(queue).scripts()).keys.claims, 'XX', 1, id);
}
