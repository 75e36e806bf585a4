import { ClaimLostError } from '../queue/errors.js';
import type { ClaimedJob, JobRecord, JobStatus } from '../queue/job.js';
import type { JobQueue } from '../queue/job-queue.js';
import { Job, type JobReporter } from './job.js';
import type { WorkerEventListener } from './worker-event.js';

/** The attempt is over and its worker gone: nobody can report on it any more. */
const nobody: JobReporter = {
  progress: ({ id }) => Promise.reject(new ClaimLostError(id)),
  log: ({ id }) => Promise.reject(new ClaimLostError(id)),
};

/**
 * Tells of the jobs whose end a sweep found: their own workers, being dead, tell of nothing.
 *
 * @param reclaimed what the sweep took back; only `failed` and `cancelled` is an end
 */
export async function tellEnds(
  queue: JobQueue,
  reclaimed: readonly { id: string; status: JobStatus }[],
  emit: WorkerEventListener,
): Promise<void> {
  await Promise.all(
    reclaimed.map(async ({ id, status }) => {
      const record = status === 'failed' || status === 'cancelled' ? await queue.get(id) : null;
      if (record && (status === 'failed' || status === 'cancelled')) {
        emit({ type: status, job: new Job(claimOf(record, queue), nobody), error: errorOf(record) });
      }
    }),
  );
}

/** The claim that was lost, as far as it can still be told. */
function claimOf(record: JobRecord, queue: JobQueue): ClaimedJob {
  const { id, name, payload, attempts, maxAttempts = queue.options.maxAttempts, fence = 0 } = record;
  return {
    id,
    name,
    queue: queue.name,
    payload,
    attempt: attempts,
    maxAttempts,
    fence,
    token: '',
    enqueuedAtMs: record.enqueuedAt.getTime(),
    claimedAtMs: record.attemptLog.at(-1)?.startedAt.getTime() ?? 0,
    options: {},
    plain: false,
  };
}

function errorOf({ lastError, attemptLog }: JobRecord): Error {
  const crash = attemptLog.at(-1)?.error;
  return Object.assign(new Error(lastError ?? crash?.message), { name: crash?.name ?? 'WorkerCrash' });
}
