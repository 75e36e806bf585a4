import type { JobStatus } from './job.js';

/** One transition of one job, as the trail has it. */
export interface AuditEntry {
  /** Where it stands in the trail; later entries have greater ones. To go on after, and to acknowledge. */
  readonly entryId: string;
  /** The id of the job. */
  readonly jobId: string;
  /** The name of the job. */
  readonly name: string;
  /** What moved the job: `enqueue`, `claim`, `complete`, `fail`, `release`, `reclaim`, `cancel`, `redrive`, `remove` and others. */
  readonly transition: string;
  /** Absent for a job that came into being. */
  readonly from?: JobStatus;
  /** Absent for a job that was deleted. */
  readonly to?: JobStatus;
  /** How many attempts of the job had begun. */
  readonly attempt: number;
  /** The last worker that claimed it. Absent where none did. */
  readonly worker?: string;
  /** The first 200 bytes of the error that ended the attempt. */
  readonly error?: string;
  /** By the server's clock. */
  readonly at: Date;
}
