import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineJob } from '#queue/enqueue/define-job.js';
import { defineHandler } from '#worker/handlers/define-handler.js';
import type { HandlerOptions } from '#worker/handlers/handler.js';
import { newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';

const Remind = defineJob('remind', {
  payload: z.object({ at: z.coerce.date(), times: z.number().default(1) }),
  result: z.object({ done: z.boolean() }),
});

function fail(): never {
  throw new Error('no');
}

onEachStore('a handler of a definition', () => {
  it('gets the payload as its schema reads it', async () => {
    const queue = newQueue();
    const seen: unknown[] = [];
    const handler = defineHandler(Remind, async (job) => {
      seen.push(job.payload.at.getTime(), job.payload.times);
      await job.progress({ percent: 50 });
      return { done: true };
    });
    await startWorker([{ queue, handlers: { remind: handler } }]);
    const job = await queue.enqueue(Remind, { at: new Date(86_400_000) });
    expect(await job.result()).toEqual({ done: true });
    expect(seen).toEqual([86_400_000, 1]);
    expect((await job.get())!.progress).toEqual({ percent: 50 });
  });

  it('is not called for a stored payload that does not fit: a dead letter with the path of the fault', async () => {
    const queue = newQueue({ maxAttempts: 5 });
    let calls = 0;
    const handler = defineHandler(Remind, () => ({ done: ++calls > 0 }));
    await startWorker([{ queue, handlers: { remind: handler } }]);
    const job = await queue.enqueue({ at: 'soon' }, { name: 'remind' });
    await expect(job.result()).rejects.toMatchObject({
      reason: 'payload.at: expected date, found "soon".',
      errorName: 'InvalidPayloadError',
      attempts: 1,
    });
    expect(calls).toBe(0);
  });

  it('fails the attempt with a result that does not fit, and may do better at the next', async () => {
    const queue = newQueue({ maxAttempts: 2 });
    const handler = defineHandler(Remind, (job) =>
      job.attempt === 1 ? ({ done: 'yes' } as never) : { done: true },
    );
    await startWorker([{ queue, handlers: { remind: handler } }]);
    const job = await queue.enqueue(Remind, { at: 0 });
    expect(await job.result()).toEqual({ done: true });
    expect((await job.get())!.attemptLog).toMatchObject([
      {
        outcome: 'error',
        error: { name: 'InvalidPayloadError', message: 'result.done: expected boolean, found "yes".' },
      },
      { outcome: 'completed', error: null },
    ]);
  });

  it('that returns nothing where a result is wanted fails too', async () => {
    const queue = newQueue({ maxAttempts: 1 });
    await startWorker([{ queue, handlers: { remind: defineHandler(Remind, () => undefined as never) } }]);
    const job = await queue.enqueue(Remind, { at: 0 });
    await expect(job.result()).rejects.toMatchObject({ reason: 'result: expected object, found undefined.' });
  });

  it.each<[string, HandlerOptions, number | undefined, number]>([
    ['enqueue', { maxAttempts: 3 }, 4, 4],
    ['definition', { maxAttempts: 3 }, undefined, 2],
  ])('takes maxAttempts first from the %s', async (_place, options, enqueued, attempts) => {
    const queue = newQueue({ maxAttempts: 5 });
    const Failing = defineJob('failing', { payload: z.null(), maxAttempts: 2 });
    await startWorker([{ queue, handlers: { failing: defineHandler(Failing, fail, options) } }]);
    // By its name: the definition holds where it binds the handler too.
    for (const job of [
      await queue.enqueue(Failing, null, { maxAttempts: enqueued }),
      await queue.enqueue(null, { name: 'failing', maxAttempts: enqueued }),
    ]) {
      await expect(job.result()).rejects.toMatchObject({ attempts });
    }
  });

  it.each<[string, HandlerOptions, number]>([
    ['handler', { maxAttempts: 3 }, 3],
    ['queue', {}, 5],
  ])('takes maxAttempts from the %s where the definition has none', async (_place, options, attempts) => {
    const queue = newQueue({ maxAttempts: 5 });
    const Failing = defineJob('failing', { payload: z.null() });
    await startWorker([{ queue, handlers: { failing: defineHandler(Failing, fail, options) } }]);
    await expect((await queue.enqueue(Failing, null)).result()).rejects.toMatchObject({ attempts });
  });

  it('uses the backoff function of the definition', async () => {
    const queue = newQueue({ maxAttempts: 2 });
    const attempts: number[] = [];
    const Failing = defineJob('failing', {
      payload: z.null(),
      backoff: (attempt) => {
        attempts.push(attempt);
        return 0;
      },
    });
    await startWorker([{ queue, handlers: { failing: defineHandler(Failing, fail, { backoff: 60_000 }) } }]);
    await expect((await queue.enqueue(Failing, null)).result()).rejects.toMatchObject({ attempts: 2 });
    expect(attempts).toEqual([1, 2]);
  });
});
