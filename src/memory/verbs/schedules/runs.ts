// The last runs of a schedule; see lua/lib/schedule/runs.lua.
import type { ScheduleRun } from '../../../queue/model/schedule.js';
import { JOB_STATUSES, type JobStatus } from '../../../queue/model/job.js';
import type { Hash, MemoryQueue } from '../../state/memory-queue.js';

const MOST = 20;

interface StoredRun extends Omit<ScheduleRun, 'at'> {
  at: number;
}

/** Returns the runs of a schedule, the newest first, with the states of their jobs as of now. */
export function runsNow(queue: MemoryQueue, schedule: Hash): ScheduleRun[] {
  return storedNow(queue, schedule).map((run) => ({ ...run, at: new Date(run.at) }));
}

/** Writes the states of runs whose jobs had not ended, before the jobs are forgotten. */
export function noteEnds(queue: MemoryQueue, schedule: Hash): void {
  const stored = JSON.parse(schedule.runs ?? '[]') as StoredRun[];
  if (stored.some(({ status }) => ['pending', 'processing', 'scheduled'].includes(status))) {
    schedule.runs = JSON.stringify(storedNow(queue, schedule));
  }
}

/** Adds a run of a schedule. */
export function noteRun(queue: MemoryQueue, schedule: Hash, run: StoredRun): void {
  const known = storedNow(queue, schedule);
  const isNew = !known.some(({ at, jobId, isByHand }) =>
    run.isByHand ? jobId === run.jobId : !isByHand && at === run.at,
  );
  if (isNew) {
    schedule.runs = JSON.stringify([run, ...known].slice(0, MOST));
  }
}

function storedNow(queue: MemoryQueue, { runs = '[]' }: Hash): StoredRun[] {
  return (JSON.parse(runs) as StoredRun[]).map((run) => ({ ...run, status: statusNow(queue, run) }));
}

function statusNow(queue: MemoryQueue, { jobId, status }: StoredRun): ScheduleRun['status'] {
  const isOpen = !['completed', 'cancelled', 'missed', 'kept', 'gone'].includes(status);
  if (!isOpen || jobId === null) {
    return status;
  }
  const found = queue.job(jobId)?.status as JobStatus | undefined;
  if (found !== undefined && JOB_STATUSES.includes(found)) {
    return found;
  }
  return status === 'failed' ? status : 'gone';
}
