import type { JobRecord } from '../model/job.js';

/** Decodes a job's relations: its batch, the jobs that it waits for, and the jobs that wait for it. */
export function decodeTies(
  queue: string,
  hash: Readonly<Record<string, string>>,
): Pick<JobRecord, 'batch' | 'after' | 'followedBy'> {
  const batch = hash.batch === undefined ? undefined : batchOf(queue, hash.batch);
  return {
    ...(batch && { batch }),
    ...(hash.after !== undefined && { after: idsOf(hash.after) }),
    ...(hash.dependents !== undefined && { followedBy: idsOf(hash.dependents) }),
  };
}

/** Decodes the field `batch`: the id of a batch here, `queue|id` of a batch elsewhere, or `=id` of a follow-up. */
function batchOf(queue: string, field: string): JobRecord['batch'] {
  if (field.startsWith('=')) {
    return { queue, id: field.slice(1), role: 'follow-up' };
  }
  const bar = field.indexOf('|');
  return bar < 0
    ? { queue, id: field, role: 'member' }
    : { queue: field.slice(0, bar), id: field.slice(bar + 1), role: 'member' };
}

function idsOf(field: string): string[] {
  return field.split(' ').filter(Boolean);
}
