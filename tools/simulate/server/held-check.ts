// Checks that a worker without `prefetch` claims few jobs ahead: those that start soon.
import type { MemoryQueue } from '#memory/state/memory-queue.js';
import { isMarked } from '#memory/verbs/attempt/unstarted.js';

/** The most unstarted jobs of a worker, at the pace of the simulated handlers. Slow trips let it hold more than ten. */
const MOST_HELD = 24;

/** Returns the workers that hold too many jobs which have not started. An isolated job waits for another reason. */
export function heldTooMany(queue: MemoryQueue): string[] {
  const held = new Map<string, number>();
  for (const id of queue.claims.members()) {
    const job = queue.jobs.get(id);
    if (job && isMarked(job) && job.crashes === undefined) {
      held.set(job.worker!, (held.get(job.worker!) ?? 0) + 1);
    }
  }
  return [...held]
    .filter(([, count]) => count > MOST_HELD)
    .map(([worker, count]) => `ahead: ${worker} holds ${count} jobs of ${queue.name} that have not started`);
}
