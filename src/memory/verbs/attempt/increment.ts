import type { Hash } from '../../state/memory-queue.js';

/** Adds one to a counter of a job, and returns it. */
export function increment(job: Hash, field: string): number {
  const value = Number(job[field] ?? 0) + 1;
  job[field] = String(value);
  return value;
}
