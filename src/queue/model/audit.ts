import type { JobStatus } from './job.js';

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
