import type { JobStatus } from './job.js';

/** The statuses of events. */
export const JOB_EVENT_STATUSES = [
  'completed',
  'failed',
  'cancelled',
  'retry',
  'released',
  'reclaimed',
  'lost',
  'stuck',
  'progress',
  'enqueued',
  'drained',
] as const satisfies readonly JobEventStatus[];

/**
 * The status of an event. `retry`, `released`: the job runs again. `reclaimed`: a sweep took its claim back. `lost`:
 * the worker of the claim learned that its claim is no longer current. `stuck`: its handler continues although its
 * signal was aborted. `enqueued` and `drained` (no job waits or runs any more) need the queue's `eventExtras`. Only its
 * own process publishes the start of a job (`@OnJobEvent`). Otherwise each of many plain jobs would pay for it.
 */
export type JobEventStatus =
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'retry'
  | 'released'
  | 'reclaimed'
  | 'lost'
  | 'stuck'
  | 'progress'
  | 'enqueued'
  | 'drained';

/** The event of a changed job: the pattern's `id` and `status`, and further fields. */
export interface JobEvent {
  /** Empty for `drained`, which is of the queue. */
  id: string;
  /** A JobEventStatus; a newer version may publish others. */
  status: string;
  /** The name of the job. */
  name?: string;
  /** The attempt, from 1. Absent before the first attempt. */
  attempt?: number;
  /** The error's message, up to 1,000 bytes. */
  error?: string;
  /** Up to 2,000 bytes of JSON; absent if it is longer. */
  progress?: unknown;
  /** As `progress`, if the queue's `eventExtras` ask for it. */
  result?: unknown;
}

/** The end of a job, which is kept longer than its record. */
export interface JobOutcome {
  /** The id of the job. */
  readonly id: string;
  /** The name of the job. */
  readonly name: string;
  /** The queue of the job. */
  readonly queue: string;
  /** The state in which it ended. */
  readonly status: 'completed' | 'failed' | 'cancelled';
  /** The time of its end, by the server's clock. */
  readonly at: Date;
  /** The number of used attempts. */
  readonly attempts: number;
}

/** A transition of a job in the trail. */
export interface AuditEntry {
  /** The place in the trail; later entries have greater ones. Pass it to continue after an entry, and to acknowledge it. */
  readonly entryId: string;
  /** The id of the job. */
  readonly jobId: string;
  /** The name of the job. */
  readonly name: string;
  /**
   * The call that moved the job: `enqueue`, `claim`, `complete`, `fail`, `release`, `reclaim`, `cancel`, `redrive`,
   * `remove` and others.
   */
  readonly transition: string;
  /** Absent for a new job. */
  readonly from?: JobStatus;
  /** Absent for a deleted job. */
  readonly to?: JobStatus;
  /** The number of started attempts. */
  readonly attempt: number;
  /** The last worker that claimed it. Absent if none did. */
  readonly worker?: string;
  /** The first 200 bytes of the error that ended the attempt. */
  readonly error?: string;
  /** The time, by the server's clock. */
  readonly at: Date;
}
