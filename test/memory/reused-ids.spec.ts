// An id whose hash was deleted, and that was enqueued again, has two places. Its job runs once, when it is due. Each case
// runs on both stores; see test/lua/job/reused-ids.spec.ts for all pairs of places.
import { describe, expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { systemClock } from '#queue/runtime/clock.js';
import { MemoryServer } from '#memory/memory-server.js';
import { MemoryStore } from '#memory/memory-store.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { keysLike } from '../support/redis/redis-reads.js';
import { openedQueue } from '../support/queue/core-queue.js';

interface Place {
  queue: JobQueue;
  forget(id: string): Promise<unknown>;
}

const stores: Record<string, () => Place> = {
  redis: () => {
    const redis = connect();
    const queue = openedQueue(redis, uniqueQueueName('reused'));
    return { queue, forget: async (id) => redis.del(...(await keysLike(redis, `*${queue.name}*:job:${id}`))) };
  },
  memory: () => {
    const server = new MemoryServer(() => Date.now());
    const queue = openedQueue(new MemoryStore(systemClock, { server }), uniqueQueueName('reused'));
    return { queue, forget: async (id) => server.queue(queue.name, queue.options).drop(id) };
  },
};

async function runAll(queue: JobQueue): Promise<unknown[]> {
  const jobs = await queue.claimMany(5);
  for (const job of jobs) await queue.complete(job, 1);
  return jobs.map((job) => job.payload);
}

describe.each(Object.entries(stores))('on %s', (_, open) => {
  it.each([{}, { priority: 2 }])('a waiting job is not run before the time of the second: %j', async (first) => {
    const { queue, forget } = open();
    await queue.enqueue(1, { id: 'X', ...first });
    await forget('X');
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
    const { queue, forget } = open();
    await queue.enqueue(1, { id: 'X', ...first });
    await forget('X');
    await queue.enqueue(2, { id: 'X', ...second });
    expect([...(await runAll(queue)), ...(await runAll(queue))]).toEqual([2]);
    expect(await queue.stats()).toMatchObject({ pending: 0, scheduled: 0, completed: 1 });
  });

  it('the discard and the redrive of a dead letter spare the job that has its id now', async () => {
    const { queue, forget } = open();
    for (const act of [() => queue.deadLetters.discard('X'), () => queue.deadLetters.redrive('X')]) {
      await queue.enqueue(1, { id: 'X', maxAttempts: 1 });
      await queue.fail((await queue.claim())!, new Error('no'));
      await forget('X');
      await queue.enqueue(2, { id: 'X' });
      await act();
      expect(await runAll(queue)).toEqual([2]);
      await queue.remove('X');
    }
  });
});
