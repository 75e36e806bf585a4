// The replies of a store's calls in one word.
import type { JobStatus } from '../model/job.js';

/** The outcome of a failed job; `lost`: its claim was no longer current, and nothing was written. */
export type FailOutcome = 'retry' | 'failed' | 'cancelled' | 'lost';

/** The outcome of a released job; `lost`: its claim was no longer current, and nothing was written. */
export type ReleaseOutcome = 'released' | 'failed' | 'cancelled' | 'lost';

/** `busy`: jobs wait or run. `already`: no job has ended since the last such event. */
export type DrainedAnswer = 'published' | 'busy' | 'already';

/**
 * `requested`: it runs, and its signal is aborted. `changed`: its status is not the required one, and nothing was done.
 */
export type CancelAnswer = 'cancelled' | 'requested' | 'finished' | 'missing' | 'changed';

/** `refused`: the job is in no state for it. */
export type UpdateAnswer = 'updated' | 'refused' | 'missing';

/** `pending`: it waits again. `refused`: the job is in no state for it. */
export type RestartAnswer = 'pending' | 'refused' | 'missing';

/** A job that a sweep reclaimed, and its new state. */
export interface ReclaimedJob {
  id: string;
  status: JobStatus;
}

/** How many jobs were deleted, and how many the next call passes over; undefined when no more are old. */
export interface CleanAnswer {
  deleted: number;
  next: number | undefined;
}
