import type { JobStatus } from '../model/job.js';
import type { ReclaimedJob } from '../store/call-outcomes.js';

/** Decodes groups of id, status and worker. */
export function decodeReclaimed(fields: readonly string[]): ReclaimedJob[] {
  const reclaimed: ReclaimedJob[] = [];
  for (let i = 0; i < fields.length; i += 3) {
    const [id, status, worker] = fields.slice(i, i + 3) as [string, JobStatus, string];
    reclaimed.push({ id, status, ...(worker !== '' && { worker }) });
  }
  return reclaimed;
}
