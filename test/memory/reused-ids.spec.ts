// An id whose hash was deleted, and that was enqueued again, has two places. Its job runs once, when it is due. Each case
// runs on both stores; see test/lua/job/reused-ids.spec.ts for all pairs of places.
import { expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { loseHash, newQueue, onEachStore } from '../support/worker/workers.js';

async function runAll(queue: JobQueue): Promise<unknown[]> {
  const jobs = await queue.claimMany(5);
  for (const job of jobs) await queue.complete(job, 1);
  return jobs.map((job) => job.payload);
}

onEachStore('an id that is enqueued again without its hash', () => {
  it.each([{}, { priority: 2 }])('a waiting job is not run before the time of the second: %j', async (first) => {
    const queue = newQueue();
    await queue.enqueue(1, { id: 'X', ...first });
    await loseHash(queue, 'X');
    expect(await queue.enqueue(2, { id: 'X', delayMs: 60_000 })).toMatchObject({ outcome: 'new' });
    expect(await runAll(queue)).toEqual([]);
    expect((await queue.stats()).scheduled).toBe(1);
    await queue.reschedule('X', { delayMs: 0 });
    expect(await runAll(queue)).toEqual([2]);
    expect(await runAll(queue)).toEqual([]);
  });

  it.each([
    [{}, {}],
    [{}, { priority: 2 }],
    [{ priority: 2 }, {}],
    [{ delayMs: 60_000 }, {}],
  ])('it runs once: %j, then %j', async (first, second) => {
    const queue = newQueue();
    await queue.enqueue(1, { id: 'X', ...first });
    await loseHash(queue, 'X');
    await queue.enqueue(2, { id: 'X', ...second });
    expect([...(await runAll(queue)), ...(await runAll(queue))]).toEqual([2]);
    expect(await queue.stats()).toMatchObject({ pending: 0, scheduled: 0, completed: 1 });
  });

  it('the discard and the redrive of a dead letter spare the job that has its id now', async () => {
    const queue = newQueue();
    for (const act of [() => queue.deadLetters.discard('X'), () => queue.deadLetters.redrive('X')]) {
      await queue.enqueue(1, { id: 'X', maxAttempts: 1 });
      await queue.fail((await queue.claim())!, new Error('no'));
      await loseHash(queue, 'X');
      await queue.enqueue(2, { id: 'X' });
      await act();
      expect(await runAll(queue)).toEqual([2]);
      await queue.remove('X');
    }
  });
});
