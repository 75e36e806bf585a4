// The ends of a job. Each end clears the claim, frees the unique key if the job still owns it, and counts.
import type { ModelJob } from './job.js';
import { deadLetters } from './places.js';
import { EVICTED_TTL_MS, LIMITS, type QueueModel } from './queue-model.js';

export function endCompleted(model: QueueModel, job: ModelJob, result: unknown): void {
  end(model, job, 'completed');
  job.result = result;
  job.lastError = undefined;
  job.forgottenAt = model.now + LIMITS.resultTtlMs;
  remember(model, 'completed', job.id, LIMITS.completedHistory);
}

export function endCancelled(model: QueueModel, job: ModelJob): void {
  end(model, job, 'cancelled');
  job.forgottenAt = model.now + LIMITS.cancelledTtlMs;
  remember(model, 'cancelled', job.id, LIMITS.cancelledHistory);
}

/** Makes a job a dead letter, which is kept until somebody redrives or discards it, or there are too many. */
export function bury(model: QueueModel, job: ModelJob, reason: string): void {
  end(model, job, 'failed');
  job.lastError = reason;
  remember(model, 'failed', job.id, LIMITS.failedHistory);
}

/**
 * Deletes the oldest jobs beyond the cap. Those of one step have almost equal times, which the rules cannot know. Of
 * these, the missing ones count as deleted.
 */
export function trimDeadLetters(model: QueueModel, isGone: (id: string) => boolean): void {
  const letters = deadLetters(model);
  const excess = Math.max(0, letters.length - LIMITS.deadLetterCap);
  letters
    .toSorted((a, b) => a.endedAt! - b.endedAt! || Number(isGone(b.id)) - Number(isGone(a.id)))
    .slice(0, excess)
    .forEach((oldest) => model.jobs.delete(oldest.id));
  model.count('dropped', excess);
}

/** Returns the outcome of waiting for the job's result. */
export function resultOf(model: QueueModel, id: string) {
  const job = model.jobs.get(id);
  switch (job?.status) {
    case undefined:
      return 'JobNotFoundError';
    case 'completed':
      return { result: job.result };
    case 'failed':
      return { reason: job.lastError, attempts: job.attempts };
    case 'cancelled':
      return 'JobCancelledError';
    default:
      return 'JobTimeoutError';
  }
}

function end(model: QueueModel, job: ModelJob, status: 'completed' | 'failed' | 'cancelled'): void {
  job.status = status;
  job.token = '';
  job.endedAt = model.now;
  freeUnique(model, job);
  model.count(status);
}

export function freeUnique(model: QueueModel, job: ModelJob): void {
  if (job.unique !== undefined && model.owners.get(job.unique) === job.id) {
    model.owners.delete(job.unique);
  }
}

/** Adds an id to a history, which keeps the newest. A job whose id is evicted is forgotten soon. */
function remember(model: QueueModel, status: keyof QueueModel['histories'], id: string, cap: number): void {
  const history = model.histories[status];
  history.unshift(id);
  for (const fallen of history.splice(cap)) {
    forgetSoon(model, fallen);
  }
}

function forgetSoon(model: QueueModel, id: string): void {
  const job = model.jobs.get(id);
  if (job?.forgottenAt !== undefined) {
    job.forgottenAt = Math.min(job.forgottenAt, model.now + EVICTED_TTL_MS);
  }
}
