import type { MemoryQueue } from '../../state/memory-queue.js';

/** Gives a pause with this end a later one. Returns false if it has another end, or none. */
export function extendPause(queue: MemoryQueue, knownEndMs: number, forMs: number): boolean {
  const { paused, now } = queue;
  if (paused?.untilMs !== knownEndMs || now + forMs < knownEndMs) {
    return false;
  }
  queue.pause = { ...paused, untilMs: now + forMs };
  return true;
}
