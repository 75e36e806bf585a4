import type { JobRecord, JobStatus } from '../../queue/model/job.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { unclaimedJob } from '../attempt/unclaimed-job.js';
import type { WorkerEventListener } from '../reports/worker-event.js';

/** A job that a sweep ended or moved. */
export interface SweptJob {
  id: string;
  status: JobStatus;
}

/**
 * Emits events for jobs whose end a sweep found, because their dead workers cannot.
 *
 * @param reclaimed the jobs that the sweep reclaimed; only `failed` and `cancelled` are ends
 * @param cause the name of the error of a job whose attempt log ends with none
 */
export async function emitEnds(
  queue: JobQueue,
  reclaimed: readonly SweptJob[],
  emit: WorkerEventListener,
  cause = 'WorkerCrash',
): Promise<void> {
  await Promise.all(
    reclaimed.map(async ({ id, status }) => {
      const record = status === 'failed' || status === 'cancelled' ? await queue.get(id) : null;
      if (record && (status === 'failed' || status === 'cancelled')) {
        emit({ type: status, job: unclaimedJob(record, queue), error: errorOf(record, cause) });
      }
    }),
  );
}

function errorOf({ lastError, attemptLog }: JobRecord, cause: string): Error {
  const crash = attemptLog.at(-1)?.error;
  return Object.assign(new Error(lastError ?? crash?.message), { name: crash?.name ?? cause });
}
