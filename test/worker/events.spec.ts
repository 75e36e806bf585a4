import { describe, expect, it } from '@jest/globals';
import type { Job } from '../../src/worker/job.js';
import { newQueue, startWorker } from '../support/workers.js';

describe('events', () => {
  it('tell what happened to each attempt, with the handler’s result or error', async () => {
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
    expect(of(bad.id).map(({ type }) => type)).toEqual(['started', 'retry', 'started', 'failed']);
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
    expect(worker.warnings[0]).toMatch(/A listener for job events threw: Error: broken listener\n/);
    await worker.worker.stop();
    expect(await queue.stats()).toMatchObject({ pending: 0, processing: 0, workers: 0 });
  });
});
