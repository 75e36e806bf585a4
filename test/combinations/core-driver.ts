// The verbs of a JobQueue, with a manual consumer.
import { expect } from '@jest/globals';
import type { ClaimedJob } from '../../src/queue/job.js';
import { coreQueue } from '../support/core-queue.js';
import { definitionOf } from './rows.js';
import type { Driver, Stage } from './scene.js';

export const coreDriver: Driver = {
  name: 'the core',
  open: async () => {
    const { queue, state } = coreQueue({ maxAttempts: 3 });
    let job: ClaimedJob;
    const stage: Stage = {
      queue,
      state,
      deadLetters: queue.deadLetters,
      schedules: queue.schedules,
      enqueue: (payload, options, typed) =>
        typed ? queue.enqueue(definitionOf(queue.name), payload, options) : queue.enqueue(payload, options),
      pause: () => queue.pause(),
      resume: () => queue.resume(),
      cancel: (id) => queue.cancel(id),
      keepWaiting: () => undefined,
      running: async () => {
        job = (await queue.claim())!;
      },
      fail: async (final) => {
        expect(await queue.fail(job, new Error('no'), { final })).toBe(final ? 'failed' : 'retry');
      },
      complete: async () => {
        expect(await queue.complete(job, 1)).toBe(true);
      },
      snooze: async (delayMs) => {
        expect(await queue.release(job, { delayMs })).toBe('released');
      },
      shutDown: async () => {
        expect(await queue.release(job)).toBe('released');
      },
      loseWorker: async () => {
        await state.expireClaims(job.id);
        expect((await queue.reclaim()).reclaimed).toEqual([{ id: job.id, status: 'pending' }]);
        expect(await queue.complete(job, 1)).toBe(false);
      },
      giveUp: async () => {
        expect(await queue.extend(job)).toBe('cancel-requested');
        expect(await queue.fail(job, new Error('aborted'))).toBe('cancelled');
      },
    };
    return Promise.resolve(stage);
  },
};
