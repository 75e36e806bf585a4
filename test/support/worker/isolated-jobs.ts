// Isolated jobs: they crashed their workers so often that another crash makes them dead letters.
import type { Redis } from 'ioredis';
import type { JobQueue } from '#queue/job-queue.js';
import { inside } from '../queue/inside.js';

/** Enqueues jobs and lets two workers die with them, which puts the jobs at the front. */
export async function enqueueIsolated(queue: JobQueue, count = 1): Promise<string[]> {
  const handles = await queue.enqueueMany(Array.from({ length: count }, () => ({ payload: {} })));
  const { keys } = await inside(queue).scripts();
  for (let crashes = 0; crashes < 2; crashes++) {
    for (const { id } of await queue.claimMany(count)) {
      await (inside(queue).connection.client as Redis).zadd(keys.claims, 'XX', 1, id);
    }
    await queue.reclaim();
  }
  return handles.map(({ id }) => id);
}
