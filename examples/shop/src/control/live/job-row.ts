import type { JobRecord } from 'nest-job-queue';
import { labelOf, outcomeOf } from '../../jobs/label.js';

const LONGEST_ERROR = 240;

export type JobRow = ReturnType<typeof jobRow>;

/** Returns a job as a row of the page, of a bounded length. */
export function jobRow(job: JobRecord, now: number, claimEndsInMs?: number) {
  const endedAt = (job.completedAt ?? job.failedAt ?? job.enqueuedAt).getTime();
  return {
    id: job.id,
    name: job.name,
    label: labelOf(job),
    status: job.status,
    attempts: job.attempts,
    maxAttempts: job.maxAttempts,
    crashes: job.crashes,
    /** Whole seconds: an age that changes four times a second cannot be read. */
    ageS: Math.max(0, Math.floor((now - endedAt) / 1_000)),
    endedAt,
    outcome: job.result === undefined ? undefined : outcomeOf(job),
    error: job.lastError?.slice(0, LONGEST_ERROR),
    claimEndsInMs,
  };
}
