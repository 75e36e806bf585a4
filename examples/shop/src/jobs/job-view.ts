import type { JobRecord } from 'nest-job-queue';
import { labelOf } from './label.js';

/** Returns the shop's view of a job, without stack traces. */
export function toView(job: JobRecord) {
  return {
    id: job.id,
    queue: job.queue,
    name: job.name,
    label: labelOf(job),
    status: job.status,
    payload: job.payload,
    /** The stored text where it is no JSON. */
    brokenPayload: job.brokenPayload,
    result: job.result,
    progress: job.progress,
    attempts: job.attempts,
    maxAttempts: job.maxAttempts,
    errors: job.attemptLog
      .filter(({ outcome }) => outcome !== 'completed')
      .map(({ attempt, outcome, error, worker, startedAt, endedAt }) => ({
        attempt,
        outcome,
        message: error?.message,
        worker,
        startedAt,
        endedAt,
      })),
    enqueuedAt: job.enqueuedAt,
    dueAt: job.dueAt,
    completedAt: job.completedAt,
    failedAt: job.failedAt,
  };
}

export type JobView = ReturnType<typeof toView>;
