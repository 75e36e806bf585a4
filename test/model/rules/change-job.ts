// Operators' changes to one job.
import { holderOf, isWaiting } from './enqueue.js';
import { dropOne } from './operate.js';
import { takeOut, toBack } from './places.js';
import type { QueueModel } from './queue-model.js';

export function promote(model: QueueModel, id: string): 'pending' | 'refused' | 'missing' {
  const job = model.jobs.get(id);
  if (job?.status === 'scheduled') {
    toBack(model, job);
    job.readyAt = model.now;
  }
  return job ? (job.status === 'pending' ? 'pending' : 'refused') : 'missing';
}

export function update(model: QueueModel, id: string, payload: unknown): 'updated' | 'refused' | 'missing' {
  const job = model.jobs.get(id);
  if (!isWaiting(job)) {
    return job ? 'refused' : 'missing';
  }
  job!.payload = payload;
  return 'updated';
}

/** Sets the priority; the job keeps its age. */
export function setPriority(model: QueueModel, id: string, priority: number): 'updated' | 'refused' | 'missing' {
  const job = model.jobs.get(id);
  if (!job || !isWaiting(job)) {
    return job ? 'refused' : 'missing';
  }
  if (job.priority !== priority) {
    takeOut(model, job);
    job.priority = priority;
    if (job.status === 'pending') {
      toBack(model, job);
    }
  }
  return 'updated';
}

/** Makes the job new, except for the record of its claims. */
export function runAgain(model: QueueModel, id: string): 'pending' | 'refused' | 'missing' {
  const job = model.jobs.get(id);
  if (job?.status !== 'completed' && job?.status !== 'cancelled') {
    return job ? 'refused' : 'missing';
  }
  dropOne(model.histories[job.status], id);
  Object.assign(job, {
    attempts: 0,
    errors: 0,
    crashes: 0,
    cancelRequested: false,
    expiresAt: undefined,
    result: undefined,
    progress: undefined,
    lastError: undefined,
    forgottenAt: undefined,
  });
  if (job.unique !== undefined && holderOf(model, job.unique) === undefined) {
    model.owners.set(job.unique, id);
    model.windows.delete(job.unique);
  }
  toBack(model, job);
  job.readyAt = model.now;
  model.count('rerun');
  return 'pending';
}
