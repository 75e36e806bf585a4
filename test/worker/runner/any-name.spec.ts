// A handler of every name that has no handler of its own, under the name `*`.
import { expect, it } from '@jest/globals';
import type { Job } from '#worker/handlers/job.js';
import { sleep } from '../../support/faults/wait.js';
import { newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';

const fails = () => Promise.reject(new Error('no'));

onEachStore('a handler of every name', () => {
  it('gets each job without a handler of its own, in the order of the queue', async () => {
    const queue = newQueue();
    const seen: string[] = [];
    const handlers = {
      '*': ({ name }: Job) => void seen.push(`any ${name}`),
      own: ({ name }: Job) => void seen.push(name),
    };
    await queue.pause();
    for (const name of ['a', 'own', 'b', 'c']) await queue.enqueue({}, { name });
    const worker = await startWorker([{ queue, concurrency: 1, handlers }]);
    expect((await queue.stats()).unserved).toEqual([]);
    await queue.resume();
    await worker.event('completed', 4);
    expect(seen).toEqual(['any a', 'own', 'any b', 'any c']);
    expect(worker.warnings).toEqual([]);
  });

  it('decides by its own limits, also for a replica that reclaims', async () => {
    const queue = newQueue({ maxAttempts: 9, backoff: 0 });
    const worker = await startWorker([{ queue, handlers: { '*': { maxAttempts: 2, handle: fails } } }]);
    const job = await queue.enqueue({}, { name: 'x' });
    await worker.event('failed');
    expect(await job.get()).toMatchObject({ status: 'failed', attempts: 2 });
    await worker.worker.stop();
    const [claim] = [await queue.enqueue({}, { name: 'x' }), await queue.claim()].slice(1) as [never];
    expect(await queue.fail(claim, new Error('no'))).toBe('retry');
  });

  it('leaves failure jobs to the handlers of failures', async () => {
    const queue = newQueue({ maxAttempts: 1 });
    const failed: string[] = [];
    const seen: string[] = [];
    const teller = await startWorker([
      { queue, handlers: {}, onFailed: { x: ({ name }: Job) => void failed.push(name) } },
    ]);
    const any = await startWorker([
      {
        queue,
        handlers: {
          '*': ({ name }: Job) => {
            seen.push(name);
            throw new Error('no');
          },
        },
      },
    ]);
    await queue.enqueue({}, { name: 'x' });
    await any.event('failed');
    await teller.event('completed');
    expect([seen, failed]).toEqual([['x'], ['@failed:x']]);
  });

  it('handles several names in one call of a bulk handler', async () => {
    const queue = newQueue();
    const calls: string[][] = [];
    const handle = (jobs: Job[]) => void calls.push(jobs.map(({ name }) => name));
    await queue.enqueueMany(['a', 'b'].map((name) => ({ payload: {}, name })));
    const worker = await startWorker([{ queue, handlers: { '*': { bulk: { size: 2, waitMs: 5_000 }, handle } } }]);
    await worker.event('completed', 2);
    expect(calls).toEqual([['a', 'b']]);
  });

  it('keeps an enqueue of any name from the warning that no worker handles it', async () => {
    const queue = newQueue();
    await startWorker([{ queue, handlers: { '*': () => sleep(0) } }]);
    const { waiting } = await queue.exec((calls) => calls.unserved({ jobs: [{ id: 'x', name: 'y' }] }));
    expect(waiting).toEqual([]);
  });
});
