import type { Logged } from '../actions/action-log.js';
import { jobsOf, onJobs } from '../actions/noted-action.js';
import { checkCount, checkKnown, checkMs } from '../validation/validate-options.js';
import { InvalidOptionError } from '../errors/errors.js';
import { JOB_STATUSES, type JobStatus } from '../model/job.js';
import { YEAR_MS } from '../runtime/bounds.js';
import { show } from '../errors/show.js';
import { tryToDeliver } from './maintain-batches.js';
import type { QueueAccess } from '../store/queue-store.js';

/** The most entries that one script call looks at. */
const SLICE = 500;

/** The states whose jobs can be cleaned. */
export type CleanableStatus = Exclude<JobStatus, 'processing'>;

/** The jobs to delete, and the most of them. */
export interface CleanOptions {
  /** The least age, in ms. @default 0: all */
  olderThanMs?: number | undefined;
  /** The most jobs to delete. @default all that are old enough */
  limit?: number | undefined;
}

/**
 * Deletes old jobs of one state, in bounded slices; see JobQueue.clean.
 *
 * @throws InvalidOptionError
 */
export async function clean(
  queue: QueueAccess & Logged,
  status: CleanableStatus,
  options: CleanOptions = {},
): Promise<number> {
  const cleanable = JOB_STATUSES.filter((each) => each !== 'processing');
  if (!cleanable.includes(status)) {
    throw new InvalidOptionError('clean status', cleanable.join(', '), show(status));
  }
  checkKnown('clean', options, ['olderThanMs', 'limit']);
  const { olderThanMs = 0, limit = Number.MAX_SAFE_INTEGER } = options;
  checkMs('olderThanMs', olderThanMs, 0, YEAR_MS);
  checkCount('limit', limit, 1, Number.MAX_SAFE_INTEGER);
  const action = onJobs('clean', jobsOf(status), options);
  const change = async () => {
    const deleted = await cleanSlices(queue, status, olderThanMs, limit);
    if (deleted > 0 && (status === 'pending' || status === 'scheduled')) {
      await tryToDeliver(queue); // a batch of them may have fired
    }
    return deleted;
  };
  return queue.actionLog.record(action, change, { count: Number });
}

async function cleanSlices(
  queue: QueueAccess,
  status: CleanableStatus,
  olderThanMs: number,
  limit: number,
): Promise<number> {
  let total = 0;
  for (const place of status === 'pending' ? (['prioritized', 'pending', 'grouped'] as const) : [status]) {
    let next: number | undefined = 0;
    while (next !== undefined && total < limit) {
      const most = Math.min(SLICE, limit - total);
      const passed: number = next;
      const reply: { deleted: number; next: number | undefined } = await queue.exec((calls) =>
        calls.clean({ place, olderThanMs, limit: most, passed }),
      );
      total += reply.deleted;
      next = reply.next;
    }
  }
  return total;
}
