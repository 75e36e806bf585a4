import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { Job } from '#worker/handlers/job.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';
import { inside } from '../../support/queue/inside.js';

describe('events', () => {
  it('report each attempt, with the handler’s result or error', async () => {
    const queue = newQueue({ maxAttempts: 2 });
    const error = new Error('no');
    const good = await queue.enqueue('good');
    const bad = await queue.enqueue('bad');
    const worker = await startWorker(
      queue,
      (job: Job) => {
        if (job.payload === 'bad') throw error;
        return 'fine';
      },
      { perQueue: 1 },
    );
    await worker.event('failed');
    await worker.event('completed');
    const of = (id: string) => worker.events.filter(({ job }) => job.id === id);
    expect(of(good.id)).toMatchObject([{ type: 'started' }, { type: 'completed', result: 'fine' }]);
    // In the order of each attempt. A claim has its own connection, so the next attempt may start before the reply to
    // the retry.
    const attempts = [1, 2].map((number) => of(bad.id).filter(({ job }) => job.attempt === number));
    expect(attempts.map((events) => events.map(({ type }) => type))).toEqual([
      ['started', 'retry'],
      ['started', 'failed'],
    ]);
    expect(of(bad.id).at(-1)!.error).toBe(error);
  });

  it('whose listener throws harm nothing, and are logged', async () => {
    const queue = newQueue({ maxAttempts: 2 });
    const jobs = await queue.enqueueMany(Array.from({ length: 40 }, (_, payload) => ({ payload })));
    const worker = await startWorker(
      queue,
      (job: Job) => {
        if (job.attempt === 1 && (job.payload as number) % 4 === 0) throw new Error('first');
      },
      {
        onEvent: ({ type }) => {
          throw type === 'started' ? new Error('broken listener') : null;
        },
      },
    );
    await worker.event('completed', jobs.length);
    expect((await queue.stats()).totals).toMatchObject({ completed: 40, retried: 10 });
    expect(worker.warnings).toHaveLength(worker.events.length);
    expect(worker.warnings[0]).toMatch(
      /A listener of job events threw an error; the others got the event. Catch errors inside the listener: Error: broken listener\n/,
    );
    await worker.worker.stop();
    expect(await queue.stats()).toMatchObject({ pending: 0, processing: 0, workers: 0 });
  });

  it('report also jobs that were refused before a handler ran, with the reason', async () => {
    const queue = newQueue();
    const redis = inside(queue).connection.client;
    const { keys } = await inside(queue).scripts();
    await queue.enqueue(['late'], { id: 'expired', expiresInMs: 60_000 });
    await redis.hset(keys.job('expired'), 'expires_at_ms', 1);
    await queue.enqueue(['text'], { id: 'broken' });
    await redis.hset(keys.job('broken'), 'payload', '{not json');
    await queue.enqueue(['cancelled'], { id: 'cancelled', maxAttempts: 2 });
    await redis.hset(keys.job('cancelled'), 'cancel_requested_at_ms', 1);
    await queue.enqueue(['whose'], { id: 'unknown', name: 'nobody' });
    const worker = await startWorker(queue);
    for (const [id, type, error] of [
      ['expired', 'failed', 'JobExpired: The job was not started within its expiresInMs.'],
      ['broken', 'failed', "BrokenJob: The payload is not JSON; brokenPayload of the job's record has its text."],
      ['cancelled', 'cancelled', 'JobCancelled: The job was cancelled before it started.'],
      ['unknown', 'released', 'Error: The job has the name "nobody", which no handler of this worker knows.'],
    ] as const) {
      const event = await worker.event(type, 1, { id });
      expect(String(event.error)).toBe(error);
      expect(event.job).toMatchObject({ id, queue: queue.name, name: id === 'unknown' ? 'nobody' : queue.name });
    }
    expect(worker.count('started')).toBe(0);
  });
});

it('the sweep of a worker reports a job whose worker died', async () => {
  const queue = newQueue({ maxAttempts: 1 });
  const { id } = await queue.enqueue({ n: 1 });
  await queue.claim();
  const { keys } = await inside(queue).scripts();
  await (inside(queue).connection.client as Redis).zadd(keys.claims, 1, id);
  const worker = await startWorker(queue, () => 'done', { sweepIntervalMs: 50 });
  const { job, error } = await worker.event('failed');
  expect([job.id, job.payload, job.attempt]).toEqual([id, { n: 1 }, 1]);
  expect(String(error)).toMatch(/^WorkerCrash: claim expired.*maxAttempts 1/);
});
