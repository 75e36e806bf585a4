import { errorKey } from '../../queue/errors/describe-error.js';
import type { JobRecord } from '../../queue/model/job.js';
import type { ErrorGroupView } from '../views/views.js';

const NO_ERROR = 'No error is stored';

/** Returns the kind of a job's last error. */
export function kindOf({ lastError }: Pick<JobRecord, 'lastError'>): string {
  return errorKey(lastError ?? NO_ERROR);
}

/** Groups dead letters by the kind of their last error, the largest group first. */
export function groupByError(jobs: readonly JobRecord[]): ErrorGroupView[] {
  const groups = new Map<string, ErrorGroupView>();
  for (const job of jobs) {
    const key = kindOf(job);
    const at = (job.failedAt ?? job.enqueuedAt).getTime();
    const known = groups.get(key);
    if (known) {
      known.count += 1;
      known.firstAt = Math.min(known.firstAt, at);
      known.lastAt = Math.max(known.lastAt, at);
    } else {
      const name = job.attemptLog.findLast(({ error }) => error !== null)?.error?.name ?? 'Error';
      const sample = (job.lastError ?? NO_ERROR).slice(0, 300);
      groups.set(key, { key, name: name.slice(0, 100), sample, count: 1, firstAt: at, lastAt: at });
    }
  }
  return [...groups.values()].toSorted((a, b) => b.count - a.count);
}
