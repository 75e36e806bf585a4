// Moves due jobs; see lua/lib/place/promote.lua.
import { hasLeft } from './attempt/has-left.js';
import type { MemoryQueue } from '../state/memory-queue.js';

/** Moves due jobs to the back of the line, the earliest first. Drops ids that were left there. Returns how many. */
export function promote(queue: MemoryQueue, limit: number): number {
  const due = queue.scheduled.upTo(queue.now).slice(0, limit);
  for (const id of due) {
    const dueAt = queue.scheduled.score(id)!;
    queue.scheduled.delete(id);
    const job = queue.job(id) ?? {};
    if (!hasLeft(queue, id)) {
      queue.toBack(id, job, dueAt, job.lifo !== undefined);
    }
  }
  return due.length;
}
