import { errorKey } from '../../queue/errors/describe-error.js';
import type { JobRecord } from '../../queue/model/job.js';
import { startOf } from '../../queue/runtime/cut.js';
import type { ErrorGroupView } from '../views/views.js';

const NO_ERROR = 'No error is stored';

/** Returns the kind of a job's last error. */
export function kindOf({ lastError }: Pick<JobRecord, 'lastError'>): string {
  return errorKey(lastError ?? NO_ERROR);
}

/** A dead letter, as far as its group shows it. */
export interface FailedJob extends Pick<ErrorGroupView, 'key' | 'name' | 'sample'> {
  queue: string;
  id: string;
  at: number;
}

/** Returns the part of a dead letter that its group shows. */
export function failedJobOf(job: JobRecord): FailedJob {
  const name = job.attemptLog.findLast(({ error }) => error !== null)?.error?.name ?? 'Error';
  return {
    queue: job.queue,
    id: job.id,
    key: kindOf(job),
    name: startOf(name, 100),
    sample: startOf(job.lastError ?? NO_ERROR, 300),
    at: (job.failedAt ?? job.enqueuedAt).getTime(),
  };
}

/** Groups dead letters by the kind of their last error, the largest group first. */
export function groupByError(jobs: readonly FailedJob[]): ErrorGroupView[] {
  const groups = new Map<string, ErrorGroupView>();
  for (const { key, name, sample, at } of jobs) {
    const known = groups.get(key);
    if (known) {
      known.count += 1;
      known.firstAt = Math.min(known.firstAt, at);
      known.lastAt = Math.max(known.lastAt, at);
    } else {
      groups.set(key, { key, name, sample, count: 1, firstAt: at, lastAt: at });
    }
  }
  return [...groups.values()].toSorted((a, b) => b.count - a.count);
}
