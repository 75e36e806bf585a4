// What a claim of certain names takes from memory is what it takes from Redis.
import { expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { MemoryStore } from '#testing/memory-store/memory-store.js';
import { newQueue } from '../../support/worker/workers.js';

async function takenIds(queue: JobQueue, count: number): Promise<string[]> {
  for (let i = 0; i < 40; i++) {
    await queue.enqueue(i, { id: `urgent-${i}`, name: 'a', priority: 1 + (i % 2) });
    await queue.enqueue(i, { id: `plain-${i}`, name: 'a' });
    await queue.enqueue(i, { id: `other-${i}`, name: 'b', priority: 9 });
  }
  const only = { limits: [{ name: 'a', maxAttempts: 3, maxCrashes: 3 }], cursor: 0 };
  const ids: string[] = [];
  for (let i = 0; i < 60 / count; i++) {
    const request = { count, worker: 'w', stream: '0', token: `t${i}`, only };
    const { jobs } = await queue.exec((calls) => calls.claim(request));
    ids.push(...jobs.map(({ id }) => id));
  }
  return ids;
}

it.each([
  ['one by one', 1, {}],
  ['several at once', 4, {}],
  ['one by one, with a limit', 1, { maxRunning: 100 }],
])('gives one turn in ten to a job without a priority: %s', async (_, count, limits) => {
  const [redis, memory] = [newQueue(), newQueue({}, new MemoryStore())];
  for (const queue of [redis, memory]) {
    if ('maxRunning' in limits) await queue.limits.set(limits);
  }
  const ids = await takenIds(redis, count);
  expect(await takenIds(memory, count)).toEqual(ids);
  const firstPlain = ids.findIndex((id) => id.startsWith('plain'));
  expect(firstPlain).toBeLessThan(30);
  expect(ids.filter((id) => id.startsWith('other'))).toEqual([]);
});

it('passes over a group whose first job has another name', async () => {
  const only = { limits: [{ name: 'a', maxAttempts: 3, maxCrashes: 3 }], cursor: 0 };
  for (const queue of [newQueue(), newQueue({}, new MemoryStore())]) {
    await queue.enqueue(1, { name: 'b', group: 'g' });
    await queue.enqueue(2, { name: 'a', group: 'g' });
    await queue.enqueue(3, { name: 'a', group: 'h' });
    const { jobs } = await queue.exec((calls) =>
      calls.claim({ count: 5, worker: 'w', stream: '0', token: 't', only }),
    );
    expect(jobs.map(({ payload }) => payload)).toEqual([3]);
  }
});
