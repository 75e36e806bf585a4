// The expiries of claims, on either store.
import type { JobQueue } from '#queue/job-queue.js';
import { MemoryStore } from '#memory/memory-store.js';
import type { MemoryCalls } from '#memory/memory-calls.js';
import { inside } from './inside.js';

const HOUR = 3_600_000;

/** Returns when a claim ends, in ms by the time of the store. */
export async function claimEnd(queue: JobQueue, id: string): Promise<number> {
  if (queue.store instanceof MemoryStore) {
    return ((await queue.calls()) as MemoryCalls).queue.claims.score(id) ?? 0;
  }
  const { keys } = await inside(queue).scripts();
  return Number(await inside(queue).connection.client.zscore(keys.claims, id));
}

/** Ends the time of a claim, as if its worker had been silent for an hour. */
export async function expireClaim(queue: JobQueue, id: string): Promise<void> {
  if (queue.store instanceof MemoryStore) {
    const { claims } = ((await queue.calls()) as MemoryCalls).queue;
    claims.set(id, Date.now() - HOUR);
    return;
  }
  const { keys } = await inside(queue).scripts();
  await inside(queue).connection.client.zadd(keys.claims, 'XX', Date.now() - HOUR, id);
}
