// The expiries of claims, on every store.
import type { JobQueue } from '#queue/job-queue.js';
import { serverOf } from './inside.js';

const HOUR = 3_600_000;

/** Returns when a claim ends, in ms by the time of the store. */
export async function claimEnd(queue: JobQueue, id: string): Promise<number> {
  const { client, scripts } = await serverOf(queue);
  return Number(await client.zscore(scripts.keys.claims, id));
}

/** Ends the time of a claim, as if its worker had been silent for an hour. */
export async function expireClaim(queue: JobQueue, id: string): Promise<void> {
  const { client, scripts } = await serverOf(queue);
  await client.zadd(scripts.keys.claims, 'XX', Date.now() - HOUR, id);
}
