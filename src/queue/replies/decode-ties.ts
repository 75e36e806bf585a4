import type { JobRecord } from '../model/job.js';
import { refsOf, splitRef } from '../store/job-ref.js';

/** Decodes a job's relations: its batch, the jobs that it waits for, and the jobs that wait for it. */
export function decodeTies(
  queue: string,
  hash: Readonly<Record<string, string>>,
): Pick<JobRecord, 'batch' | 'after' | 'followedBy'> {
  const batch = hash.batch === undefined ? undefined : batchOf(queue, hash.batch);
  return {
    ...(batch && { batch }),
    ...(hash.after !== undefined && { after: refsOf(queue, hash.after) }),
    ...(hash.dependents !== undefined && { followedBy: refsOf(queue, hash.dependents) }),
  };
}

/** Decodes the field `batch`, see lua/lib/batch/end_member. */
function batchOf(home: string, field: string): JobRecord['batch'] {
  const { queue, id } = splitRef(home, field);
  return queue === '' ? { queue: home, id, role: 'follow-up' } : { queue, id, role: 'member' };
}
