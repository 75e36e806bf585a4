import type { MemoryQueue } from '../../state/memory-queue.js';

const ENDED = new Set(['completed', 'failed', 'cancelled']);

/** Returns whether a job waits no longer: it has ended or is claimed. So its id in a waiting place was left there. */
export function hasLeft(queue: MemoryQueue, id: string): boolean {
  const status = queue.job(id)?.status;
  return status === 'processing' ? queue.claims.has(id) : ENDED.has(status ?? '');
}

/** Returns whether the id of a dead letter belongs to a job in another state, because its hash was deleted. */
export function isReused(queue: MemoryQueue, id: string): boolean {
  return !['failed', undefined].includes(queue.job(id)?.status);
}

/** Deletes a job that has left the dead letters, and returns whether it did. Spares an id in use again. */
export function dropDeadLetter(queue: MemoryQueue, id: string): boolean {
  if (isReused(queue, id)) {
    return false;
  }
  queue.outcomes.addDropped(queue, id);
  return queue.drop(id);
}
