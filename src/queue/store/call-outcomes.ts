// The replies of a store's calls in one word.
import type { StoredError } from '../errors/stored-error.js';
import type { JobStatus } from '../model/job.js';

/** The outcome of a failed job; `lost`: its claim was no longer current, and nothing was written. */
export type FailOutcome = 'retry' | 'failed' | 'cancelled' | 'lost';

/** The outcome of a released job; `lost`: its claim was no longer current, and nothing was written. */
export type ReleaseOutcome = 'released' | 'failed' | 'cancelled' | 'lost';

/** The outcome of the start of a job that waited in its worker. `lost`: its claim is not current. An error: it must not start. */
export type StartOutcome = 'started' | 'lost' | StoredError;

/** The outcome of an extended claim; `cancel-requested`: it was extended, and its job is to be cancelled. */
export type ExtendOutcome = 'extended' | 'cancel-requested' | 'lost';

/**
 * The outcome of a cancel. `requested`: the job runs, and its signal is aborted. `changed`: its status is not the required
 * one, and nothing was done.
 */
export type CancelOutcome = 'cancelled' | 'requested' | 'finished' | 'missing' | 'changed';

/** The same from a store. `posted`: cancelled, and the outbox has something for another queue. */
export type CancelReply = CancelOutcome | 'posted';

/** The outcome of a removal. `processing`: the job is claimed. `changed`: its status is not the required one. */
export type RemoveOutcome = 'removed' | 'processing' | 'missing' | 'changed';

/** The outcome of a new start: the job's state. `refused`: the job runs or has ended. */
export type RescheduleOutcome = 'scheduled' | 'pending' | 'refused' | 'missing';

/** The outcome of a change to a job. `refused`: the job is in no state for it. */
export type UpdateOutcome = 'updated' | 'refused' | 'missing';

/** The outcome of a job's restart. `pending`: it waits again. `refused`: the job is in no state for it. */
export type RestartOutcome = 'pending' | 'refused' | 'missing';

/** A job that a sweep reclaimed, and its new state. */
export interface ReclaimedJob {
  id: string;
  status: JobStatus;
  /** The worker that had claimed it, if it is known. */
  worker?: string;
}

/** The number of deleted jobs, and of jobs that the next call passes over; undefined when no more are old. */
export interface CleanReply {
  deleted: number;
  next: number | undefined;
}
