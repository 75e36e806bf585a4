import { expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';

const HOUR = 3_600_000;

onEachStore('backoff', () => {
  it('of the job comes before that of the handler before that of the queue', async () => {
    const queue = newQueue({ backoff: 3 * HOUR });
    const handlers = { own: { handle: fail, backoff: 2 * HOUR }, none: fail };
    const [job, handler, fallback] = await queue.enqueueMany([
      { payload: 1, name: 'own', backoff: HOUR },
      { payload: 1, name: 'own' },
      { payload: 1, name: 'none' },
    ]);
    const worker = await startWorker([{ queue, handlers }]);
    await worker.event('retry', 3);
    expect(await delays(queue, [job!.id, handler!.id, fallback!.id])).toEqual([HOUR, 2 * HOUR, 3 * HOUR]);
  });

  it('by a rule grows with the attempts', async () => {
    const queue = newQueue();
    const minute = HOUR / 60;
    const backoff = { type: 'exponential', delayMs: minute, jitter: 0 } as const;
    const { id } = await queue.enqueue({}, { backoff, maxAttempts: 5 });
    const worker = await startWorker(queue, fail);
    for (const [i, expected] of [minute, 2 * minute, 4 * minute].entries()) {
      await worker.event('retry', i + 1);
      expect(await delays(queue, [id])).toEqual([expected]);
      await queue.reschedule(id, { delayMs: 0 });
    }
  });

  it('by a function gets the attempt, the error and the job', async () => {
    const queue = newQueue({ maxAttempts: 2 });
    const { id } = await queue.enqueue({});
    const told: unknown[] = [];
    const backoff = (...args: unknown[]) => {
      told.push(args);
      return HOUR;
    };
    const worker = await startWorker(queue, { handle: fail, backoff });
    const { error } = await worker.event('retry');
    expect(told).toEqual([[1, error, expect.objectContaining({ id, name: queue.name, queue: queue.name })]]);
    expect(await delays(queue, [id])).toEqual([HOUR]);
  });

  it.each([
    ['throws', () => raise(new Error('broken backoff')), /no luck \(and broken backoff\)/],
    ['throws what is no error', () => raise(null), /no luck \(and null\)/],
    ['answers nonsense', () => Number.NaN, /no luck \(and backoff function: expected .*, found NaN/],
  ])('by a function that %s is no backoff, and the job says so', async (_, backoff, message) => {
    const queue = newQueue({ maxAttempts: 2 });
    const { id } = await queue.enqueue({});
    const worker = await startWorker(queue, { handle: fail, backoff });
    await worker.event('failed');
    const job = await queue.get(id);
    expect(job).toMatchObject({ status: 'failed', attempts: 2 });
    expect(job!.lastError).toMatch(message);
  });
});

/** Returns the delays of the retries of jobs, in ms. */
function delays(queue: JobQueue, ids: string[]): Promise<number[]> {
  return Promise.all(
    ids.map(async (id) => {
      const job = await queue.get(id);
      return job!.dueAt!.getTime() - job!.lastErrorAt!.getTime();
    }),
  );
}

function fail(): never {
  throw new Error('no luck');
}

function raise(thrown: unknown): never {
  throw thrown;
}
