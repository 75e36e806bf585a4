import type { QueueLimits } from '#queue/model/limits.js';
import { testQueue } from '../../support/queue/queue-state.js';

export const HOUR = 3_600_000;

/** Returns a rate so slow that no start is earned during a test, even on a loaded machine. */
export const hourly = (limit: number, burst: number): QueueLimits => ({
  rateLimit: { limit, periodMs: HOUR, burst },
});

/** Makes a queue with these limits, and plain jobs of these ids. */
export async function limited(limits: QueueLimits, ...ids: string[]) {
  const q = testQueue();
  await q.run(q.scripts.limits.set(limits));
  await q.addAll(...ids);
  return q;
}

export const ids = (jobs: { id: string }[]) => jobs.map(({ id }) => id);
