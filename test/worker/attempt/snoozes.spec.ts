// How often a job may be snoozed before it is a dead letter.
import { expect, it } from '@jest/globals';
import { RetryLaterError, SnoozesExhaustedError } from '#queue/errors/errors.js';
import type { Job } from '#worker/handlers/job.js';
import { newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';

onEachStore('a snooze', () => {
  it.each([
    ['of the queue', { maxSnoozes: 2 }, {}],
    ['of the handler', { maxSnoozes: 9 }, { maxSnoozes: 2 }],
  ])('is granted maxSnoozes times %s; then the job is a dead letter that says why', async (_, ofQueue, own) => {
    const queue = newQueue({ maxAttempts: 1, ...ofQueue });
    const { id } = await queue.enqueue({});
    const worker = await startWorker(queue, { handle: later, ...own });
    const { error } = await worker.event('failed');
    expect(error).toEqual(new SnoozesExhaustedError(id, 2));
    expect(worker.count('released')).toBe(2);
    const job = (await queue.get(id))!;
    expect(job).toMatchObject({ status: 'failed', attempts: 0, lastError: (error as Error).message });
    expect(job.attemptLog.map(({ outcome, error: why }) => [outcome, why?.name])).toEqual([
      ['snooze', undefined],
      ['snooze', undefined],
      ['snooze', 'SnoozesExhaustedError'],
    ]);

    expect(await queue.deadLetters.redrive(id)).toBe(true); // which resets the count
    await worker.event('failed', 2);
    expect(worker.count('released')).toBe(4);
  });

  it('by a release with a delay counts too', async () => {
    const queue = newQueue({ maxSnoozes: 1 });
    await queue.enqueue({});
    expect(await queue.release((await queue.claim())!, { delayMs: 1 })).toBe('released');
    expect(await queue.release((await queue.claim({ timeoutMs: 5_000 }))!, { delayMs: 1 })).toBe('failed');
  });

  it('counts neither interruptions nor rests', async () => {
    const queue = newQueue({ maxSnoozes: 1 });
    await queue.enqueue({});
    for (let i = 0; i < 3; i++) {
      expect(await queue.release((await queue.claim())!)).toBe('released');
    }
    expect(await queue.stats()).toMatchObject({ pending: 1, failed: 0 });
  });
});

function later(_job: Job): never {
  throw new RetryLaterError(1);
}
