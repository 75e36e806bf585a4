// Enqueue: what a new job finds, and where it goes.
import type { EnqueueOptions } from '../../../src/queue/new-job.js';
import { freshJob, type ModelJob } from './job.js';
import { takeOut, toBack, toLater } from './places.js';
import type { QueueModel } from './queue-model.js';

/** The options of the model's enqueues: of the backoffs it knows the fixed ones, of the start times offsets from now. */
export type ModelEnqueueOptions = Omit<EnqueueOptions, 'backoff' | 'runAt'> & {
  backoff?: number;
  runAtOffsetMs?: number;
};

export interface EnqueueSays {
  id: string;
  outcome: 'new' | 'existing' | 'kept' | 'replaced';
}

/** @param id the caller's, or the one that was drawn */
export function enqueue(
  model: QueueModel,
  queue: string,
  id: string,
  payload: unknown,
  options: ModelEnqueueOptions,
): EnqueueSays {
  if (model.jobs.has(id)) {
    return { id, outcome: 'existing' };
  }
  const owner = options.unique && holderOf(model, options.unique);
  if (owner && options.unique!.onConflict === 'replace' && isWaiting(model.jobs.get(owner))) {
    replace(model, model.jobs.get(owner)!, options.name ?? queue, payload, options);
    return { id: owner, outcome: 'replaced' };
  }
  if (owner) {
    return { id: owner, outcome: 'kept' };
  }
  const job = model.add(freshJob(id, options.name ?? queue, payload, model.now));
  model.count('enqueued');
  ask(model, job, options);
  if (options.unique) {
    own(model, job.id, options.unique);
  }
  place(model, job, options);
  return { id, outcome: 'new' };
}

/**
 * Who holds a unique key against this request: within its time its owner, whatever became of it; else the owner while
 * it waits (`pending`), or while it has not ended (`unfinished`).
 */
export function holderOf(model: QueueModel, unique: NonNullable<EnqueueOptions['unique']>): string | undefined {
  const owner = model.owners.get(unique.key);
  const job = owner === undefined ? undefined : model.jobs.get(owner);
  const inTime = (model.windows.get(unique.key) ?? 0) > model.now;
  const held =
    inTime ||
    (unique.for === 'pending' && isWaiting(job)) ||
    (unique.for === 'unfinished' && (isWaiting(job) || job?.status === 'processing'));
  return held ? owner : undefined;
}

export function own(
  model: QueueModel,
  id: string,
  { key, for: time }: NonNullable<EnqueueOptions['unique']>,
): void {
  model.owners.set(key, id);
  if (typeof time === 'object') {
    model.windows.set(key, model.now + time.ms);
  }
}

/** The owner keeps its id, and starts anew with all that is asked for. The record of its claims stays. */
function replace(
  model: QueueModel,
  owner: ModelJob,
  name: string,
  payload: unknown,
  options: ModelEnqueueOptions,
): void {
  takeOut(model, owner);
  Object.assign(owner, { name, payload, attempts: 0, errors: 0, crashes: 0, cancelRequested: false });
  owner.readyAt = model.now;
  ask(model, owner, options);
  place(model, owner, options);
}

export function ask(model: QueueModel, job: ModelJob, options: ModelEnqueueOptions): void {
  job.priority = options.priority ?? 0;
  job.maxAttempts = options.maxAttempts;
  job.maxCrashes = options.maxCrashes;
  job.backoffMs = options.backoff;
  job.expiresAt = options.expiresInMs === undefined ? undefined : model.now + options.expiresInMs;
  if (typeof options.unique?.for === 'object') {
    job.window = options.unique.key;
  } else if (options.unique) {
    job.unique = options.unique.key;
  }
}

function place(model: QueueModel, job: ModelJob, options: ModelEnqueueOptions): void {
  const offset = options.runAtOffsetMs ?? options.delayMs ?? 0;
  if (offset > 0) {
    toLater(job, model.now + offset);
  } else {
    toBack(model, job);
  }
}

export function isWaiting(job: ModelJob | undefined): boolean {
  return job?.status === 'pending' || job?.status === 'scheduled';
}
