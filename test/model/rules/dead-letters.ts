// Dead letters: which a filter means, and the two ways out.
import type { ModelJob } from './job.js';
import { holderOf } from './enqueue.js';
import { dropOne } from './operate.js';
import { deadLetters, toBack } from './places.js';
import type { QueueModel } from './queue-model.js';

/** Returns the dead letters that match a filter: a text in the last error, case-insensitive. */
export function matching(model: QueueModel, error: string | undefined): ModelJob[] {
  return deadLetters(model).filter((job) => !error || job.lastError!.toLowerCase().includes(error.toLowerCase()));
}

/**
 * Puts dead letters back with all attempts, and keeps their attempt logs. A job holds its unique key again if no
 * other job does.
 */
export function redrive(model: QueueModel, ids: readonly string[], payload?: unknown): number {
  const letters = ids.flatMap((id) => model.jobs.get(id) ?? []).filter((job) => job.status === 'failed');
  for (const job of letters) {
    dropOne(model.histories.failed, job.id);
    Object.assign(job, { attempts: 0, errors: 0, crashes: 0, cancelRequested: false, expiresAt: undefined });
    job.payload = payload === undefined ? job.payload : payload;
    if (job.unique !== undefined && holderOf(model, job.unique) === undefined) {
      model.owners.set(job.unique, job.id);
      model.windows.delete(job.unique);
    }
    toBack(model, job);
    job.readyAt = model.now;
  }
  model.count('redriven', letters.length);
  return letters.length;
}

/** Deletes dead letters. */
export function discard(model: QueueModel, ids: readonly string[]): number {
  const letters = ids.flatMap((id) => model.jobs.get(id) ?? []).filter((job) => job.status === 'failed');
  for (const job of letters) {
    dropOne(model.histories.failed, job.id);
    model.jobs.delete(job.id);
  }
  model.count('discarded', letters.length);
  return letters.length;
}
