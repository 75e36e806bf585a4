// The rules of a claim: its jobs and its writes. A job that must not run is not handed out; the claimer settles it as
// failed.
import type { ModelJob } from './job.js';
import { promote, takeNext } from './places.js';
import { LIMITS, type QueueModel } from './queue-model.js';
import { failed } from './settle.js';

export interface ClaimSays {
  id: string;
  name: string;
  payload: unknown;
  attempt: number;
  maxAttempts: number;
  fence: number;
}

/** @param token the claimer's token, or undefined if it got no job */
export function claim(
  model: QueueModel,
  count: number,
  worker: string,
  tokenOf: (id: string) => string,
): ClaimSays[] {
  for (;;) {
    promote(model, Math.max(count, 100));
    const ids = model.pausedAt === undefined ? takeNext(model, count) : [];
    const taken = ids.map((id) => model.jobs.get(id)!);
    const refused = taken.filter((job) => take(model, job, worker, tokenOf(job.id)) === 'refused');
    refused.forEach((job) => failed(model, job, refusalOf(model, job)!, { final: true, backoffMs: 0 }));
    const given = taken.filter((job) => !refused.includes(job));
    // If all taken jobs are refused, it looks again.
    if (given.length > 0 || refused.length === 0) {
      return given.map(says);
    }
  }
}

/** Claims a job. The fence grows with each claim of the queue, and the attempt counts from here on. */
function take(model: QueueModel, job: ModelJob, worker: string, token: string): 'taken' | 'refused' {
  const refusal = refusalOf(model, job);
  job.status = 'processing';
  job.token = token;
  job.fence = ++model.sequence;
  job.worker = worker;
  job.claimExpiresAt = model.now + LIMITS.visibilityMs;
  if (refusal) {
    return 'refused';
  }
  job.attempts += 1;
  model.tickets.push({ id: job.id, token, fence: job.fence, backoffMs: job.backoffMs });
  return 'taken';
}

function refusalOf(model: QueueModel, job: ModelJob): string | undefined {
  if (job.expiresAt === undefined || job.expiresAt > model.now) {
    return undefined;
  }
  const before = job.lastError ? ` Its last error: ${job.lastError}` : '';
  return expiry(job) + before;
}

function expiry({ attempts, interruptions, snoozes }: ModelJob): string {
  if (attempts > 0) {
    return `The job expired after ${attempts} attempt${attempts === 1 ? '' : 's'}, before the next one.`;
  }
  return interruptions + snoozes > 0
    ? 'The job expired after it was released, before its next attempt.'
    : 'The job was not started within its expiresInMs.';
}

function says(job: ModelJob): ClaimSays {
  const { id, name, payload, attempts, fence } = job;
  return {
    id,
    name,
    payload,
    attempt: attempts,
    maxAttempts: job.maxAttempts ?? LIMITS.maxAttempts,
    fence: fence!,
  };
}
