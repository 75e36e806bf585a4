// The rules of the sweep: reclaims expired claims, and deletes what is no longer used.
import { bury, endCancelled } from './ends.js';
import type { ModelJob } from './job.js';
import { inUseAgain } from './operate.js';
import { processing, toFront } from './places.js';
import { LIMITS, type QueueModel } from './queue-model.js';
import { logAttempt } from './settle.js';

export interface ReclaimSays {
  reclaimed: { id: string; status: string }[];
  more: boolean;
}

/**
 * Reclaims the latest expiry first, and within a call the latest claim first. So the first claimed job ends up in
 * front.
 */
export function reclaim(model: QueueModel, limit: number): ReclaimSays {
  const expired = processing(model).filter((job) => job.claimExpiresAt! <= model.now);
  const taken = expired.toReversed().slice(0, limit);
  const reclaimed = taken
    .toSorted((a, b) => b.fence! - a.fence!)
    .map((job) => ({ id: job.id, status: crash(model, job) }));
  return { reclaimed, more: taken.length === limit };
}

/** Counts a crash and the attempt. A higher fence makes the old holder's settle stale. */
function crash(model: QueueModel, job: ModelJob): 'pending' | 'failed' | 'cancelled' {
  const maxCrashes = job.maxCrashes ?? LIMITS.maxCrashes;
  const maxAttempts = job.maxAttempts ?? LIMITS.maxAttempts;
  const reason = `claim expired (worker ${job.worker})`;
  model.count('reclaimed');
  logAttempt(job, 'crash');
  job.token = '';
  job.fence = ++model.sequence;
  job.crashes += 1;
  model.count('crashed');
  if (job.cancelRequested) {
    endCancelled(model, job);
    return 'cancelled';
  }
  if (job.crashes >= maxCrashes) {
    bury(
      model,
      job,
      `${reason}: its worker died ${job.crashes} times while it ran (maxCrashes ${maxCrashes})${named(job)}`,
    );
    return 'failed';
  }
  if (job.attempts >= maxAttempts) {
    bury(model, job, `${reason} on attempt ${job.attempts} (maxAttempts ${maxAttempts})${named(job)}`);
    return 'failed';
  }
  toFront(model, job);
  return 'pending';
}

/**
 * Removes from the ends of the histories forgotten ids and ids in use again. Deletes expired keys that their owner no
 * longer holds, and jobs beyond the handlers' limits.
 */
export function tidy(model: QueueModel): void {
  for (const [key, end] of model.windows) {
    const owner = model.owners.get(key);
    if (end <= model.now) {
      model.windows.delete(key);
      if (owner !== undefined && model.jobs.get(owner)?.unique !== key) {
        model.owners.delete(key);
      }
    }
  }
  for (const [status, history] of Object.entries(model.histories)) {
    const isLeftOver = () =>
      !model.jobs.has(history.at(-1)!) || (status !== 'failed' && inUseAgain(model, status as 'completed'));
    while (history.length > 0 && isLeftOver()) {
      history.pop();
    }
  }
}

/** Names the handler in the reason of a burial by a crash, because no log of a handler does. */
function named({ name }: ModelJob): string {
  return `; its name is "${name}"`;
}
