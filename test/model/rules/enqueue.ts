// The rules of an enqueue: what a new job finds, and its place.
import type { EnqueueOptions } from '#queue/enqueue/enqueue-options.js';
import { freshJob, type ModelJob } from './job.js';
import { takeOut, toBack, toLater } from './places.js';
import type { QueueModel } from './queue-model.js';

/** The options of the model's enqueues. The model supports fixed backoffs, and start times as offsets from now. */
export type ModelEnqueueOptions = Omit<EnqueueOptions, 'backoff' | 'runAt'> & {
  backoff?: number;
  runAtOffsetMs?: number;
};

export interface EnqueueSays {
  id: string;
  outcome: 'new' | 'existing' | 'kept' | 'replaced';
}

/**
 * Returns the index in its call of a job that would expire before its start. Such a call writes nothing. The delay is
 * checked first, for every id. The server checks a start time, but not for a known id, which adds no job.
 */
export function refusedAt(model: QueueModel, jobs: readonly ModelEnqueueOptions[]): number | undefined {
  const delayed = jobs.findIndex(({ delayMs = 0, expiresInMs = Infinity }) => expiresInMs <= delayMs);
  const late = jobs.findIndex(
    ({ id = '', runAtOffsetMs = 0, expiresInMs = Infinity }) => expiresInMs <= runAtOffsetMs && !model.jobs.has(id),
  );
  return [delayed, late].find((at) => at !== -1);
}

/** @param id the caller's, or the random one */
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
  const owner = options.unique && holderOf(model, options.unique.key);
  const standing = owner === undefined ? undefined : model.jobs.get(owner);
  const theirs = standing && [standing.unique, standing.window].includes(options.unique!.key);
  if (owner && options.unique!.onConflict === 'replace' && theirs && isWaiting(standing)) {
    replace(model, standing, options.name ?? queue, payload, options);
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
 * Returns the holder of a unique key, by the holder's option. It holds the key for a time, while it waits (`pending`),
 * or until it ends (`unfinished`).
 */
export function holderOf(model: QueueModel, key: string): string | undefined {
  const owner = model.owners.get(key);
  const job = owner === undefined ? undefined : model.jobs.get(owner);
  const until = model.windows.get(key);
  if (until !== undefined) {
    return until > model.now ? owner : undefined;
  }
  const runs = job?.status === 'processing' && job.uniqueFor === 'unfinished';
  return job?.unique === key && (isWaiting(job) || runs) ? owner : undefined;
}

export function own(
  model: QueueModel,
  id: string,
  { key, for: time }: NonNullable<EnqueueOptions['unique']>,
): void {
  model.owners.set(key, id);
  if (typeof time === 'object') {
    model.windows.set(key, model.now + time.ms);
  } else {
    model.windows.delete(key);
  }
}

/** Replaces the owner, which keeps its id and attempt log, and starts again with the new options. */
function replace(
  model: QueueModel,
  owner: ModelJob,
  name: string,
  payload: unknown,
  options: ModelEnqueueOptions,
): void {
  takeOut(model, owner);
  Object.assign(owner, { name, payload, attempts: 0, errors: 0, crashes: 0, cancelRequested: false });
  Object.assign(owner, {
    progress: undefined,
    log: [],
    lastError: undefined,
    interruptions: 0,
    snoozes: 0,
    readyAt: model.now,
  });
  ask(model, owner, options);
  own(model, owner.id, options.unique!);
  place(model, owner, options);
}

export function ask(model: QueueModel, job: ModelJob, options: ModelEnqueueOptions): void {
  job.priority = options.priority ?? 0;
  job.maxAttempts = options.maxAttempts;
  job.maxCrashes = options.maxCrashes;
  job.backoffMs = options.backoff;
  job.metadata = options.metadata;
  job.expiresAt = options.expiresInMs === undefined ? undefined : model.now + options.expiresInMs;
  const { key, for: kind } = options.unique ?? {};
  job.window = typeof kind === 'object' ? key : undefined;
  job.unique = typeof kind === 'string' ? key : undefined;
  job.uniqueFor = typeof kind === 'string' ? kind : undefined;
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
