import { DurabilityTimeoutError } from '../enqueue/durable-batcher.js';
import { EnqueueError, QueueFullError, type EnqueueItem } from '../errors/enqueue-errors.js';
import type { JobHandle } from '../results/job-handle.js';

/** The ids that the caller chose for new members. Another attempt or member may add the same jobs. */
export type OwnIds = ReadonlySet<string>;

export function idsIn(jobs: readonly { id?: string }[]): OwnIds {
  return new Set(jobs.flatMap(({ id }) => id ?? []));
}

/** Returns the jobs that a failed call has added. */
export function addedBefore(error: unknown): (EnqueueItem | JobHandle)[] {
  const isOfMany = error instanceof EnqueueError || error instanceof QueueFullError;
  const jobs = isOfMany ? error.items : error instanceof DurabilityTimeoutError ? error.handles : [];
  return jobs.filter(({ outcome }) => outcome === 'new');
}
