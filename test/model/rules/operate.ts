// Operators' actions on jobs.
import { endCancelled, freeUnique } from './ends.js';
import { isWaiting } from './enqueue.js';
import type { ModelJob } from './job.js';
import { takeOut, toBack, toLater } from './places.js';
import type { QueueModel } from './queue-model.js';

/** Cancels a waiting job at once, and a running job when its holder learns of it. */
export function cancel(model: QueueModel, id: string): 'cancelled' | 'requested' | 'finished' | 'missing' {
  const job = model.jobs.get(id);
  if (!job) {
    return 'missing';
  }
  if (isWaiting(job)) {
    takeOut(model, job);
    endCancelled(model, job);
    return 'cancelled';
  }
  if (job.status === 'processing') {
    job.cancelRequested = true;
    return 'requested';
  }
  return job.status === 'cancelled' ? 'cancelled' : 'finished';
}

/** Removes all traces, including a unique key held for a fixed time. */
export function remove(model: QueueModel, id: string): 'removed' | 'processing' | 'missing' {
  const job = model.jobs.get(id);
  if (!job) {
    return 'missing';
  }
  if (job.status === 'processing') {
    return 'processing';
  }
  endWindow(model, job);
  if (isWaiting(job)) {
    model.count('removed');
  } else {
    dropOne(model.histories[job.status as 'completed'], id);
  }
  destroy(model, job);
  return 'removed';
}

function endWindow(model: QueueModel, { id, window }: ModelJob): void {
  if (window !== undefined && model.owners.get(window) === id) {
    model.owners.delete(window);
    model.windows.delete(window);
  }
}

export function reschedule(
  model: QueueModel,
  id: string,
  by: 'delayMs' | 'runAt',
  offsetMs: number,
): 'scheduled' | 'pending' | 'refused' | 'missing' | `reschedule.${typeof by}` {
  const job = model.jobs.get(id);
  if (!job) {
    return 'missing';
  }
  if (!isWaiting(job)) {
    return 'refused';
  }
  const delayMs = Math.max(0, offsetMs);
  if (job.expiresAt !== undefined && job.expiresAt <= model.now + delayMs) {
    return `reschedule.${by}`; // it would have expired by then
  }
  takeOut(model, job);
  if (delayMs > 0) {
    toLater(job, model.now + delayMs);
    return 'scheduled';
  }
  toBack(model, job);
  job.readyAt = model.now;
  return 'pending';
}

/** Pauses the queue. Returns false if it was paused already. */
export function pause(model: QueueModel): boolean {
  const changes = model.pausedAt === undefined;
  model.pausedAt ??= model.now;
  return changes;
}

export function resume(model: QueueModel): boolean {
  const changes = model.pausedAt !== undefined;
  model.pausedAt = undefined;
  return changes;
}

/** Returns the jobs of one state that have at least this age. */
export function oldJobs(model: QueueModel, status: Cleanable, olderThanMs: number): ModelJob[] {
  return model.inState(status).filter((job) => ageStart(job) <= model.now - olderThanMs);
}

/** Deletes old jobs of one state: by their end, by when they became claimable, scheduled ones by their enqueue. */
export function clean(model: QueueModel, status: Cleanable, olderThanMs: number): number {
  const old = oldJobs(model, status, olderThanMs);
  if (status === 'completed' || status === 'cancelled') {
    return cleanHistory(model, status, old);
  }
  for (const job of old) {
    dropOne(model.histories.failed, job.id);
    if (isWaiting(job)) {
      endWindow(model, job); // without an end
      model.count('removed');
    }
    destroy(model, job);
  }
  return old.length;
}

export type Cleanable = 'pending' | 'scheduled' | 'completed' | 'failed' | 'cancelled';

/** Removes only jobs in the history, with older ids whose job is forgotten or in use again. */
function cleanHistory(model: QueueModel, status: 'completed' | 'cancelled', old: ModelJob[]): number {
  const history = model.histories[status];
  let deleted = 0;
  while (history.length > 0) {
    const job = model.jobs.get(history.at(-1)!);
    if (job?.status === status && !old.includes(job) && !inUseAgain(model, status)) {
      break;
    }
    history.pop();
    if (job?.status === status && old.includes(job)) {
      destroy(model, job);
      deleted += 1;
    }
  }
  return deleted;
}

/** Returns whether the oldest id of a history is in another state now, or ended again at a newer place. */
export function inUseAgain(model: QueueModel, status: keyof QueueModel['histories']): boolean {
  const history = model.histories[status];
  const id = history.at(-1)!;
  return model.jobs.get(id)?.status !== status || history.indexOf(id) < history.length - 1;
}

function ageStart(job: ModelJob): number {
  if (job.status === 'scheduled') {
    return job.enqueuedAt;
  }
  return job.status === 'pending' ? (job.readyAt ?? job.enqueuedAt) : job.endedAt!;
}

/**
 * Deletes all jobs in every state, and everything that belongs only to jobs. Counters, a pause and the schedules stay.
 */
export function purge(model: QueueModel): number {
  const inHistories = new Set([...model.histories.completed, ...model.histories.cancelled]);
  const standing = [...model.jobs.values()].filter(
    (job) => isWaiting(job) || job.status === 'processing' || job.status === 'failed' || inHistories.has(job.id),
  );
  model.count('removed', standing.filter((job) => isWaiting(job) || job.status === 'processing').length);
  standing.forEach((job) => model.jobs.delete(job.id));
  model.pending = [];
  Object.values(model.histories).forEach((history) => history.splice(0));
  model.owners.clear();
  model.windows.clear();
  return standing.length;
}

function destroy(model: QueueModel, job: ModelJob): void {
  takeOut(model, job);
  freeUnique(model, job);
  model.jobs.delete(job.id);
}

/** Removes the first occurrence of an id in a list. */
export function dropOne(list: string[], id: string): void {
  const at = list.indexOf(id);
  if (at >= 0) {
    list.splice(at, 1);
  }
}
