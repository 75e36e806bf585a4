// Changes one job for operators; see lua/job.
import { leavePlain } from './write-options.js';
import type { RestartOutcome, UpdateOutcome } from '../../queue/store/call-outcomes.js';
import { jobReopened } from './batch/job-ended.js';
import { regainKey } from './enqueue.js';
import type { Hash, MemoryQueue } from '../state/memory-queue.js';
import { removeFirst } from '../state/scored-set.js';

export function isWaiting(job: Hash): boolean {
  return job.status === 'pending' || job.status === 'scheduled';
}

export function promote(queue: MemoryQueue, id: string): RestartOutcome {
  const job = queue.job(id);
  if (!job) {
    return 'missing';
  }
  if (job.status === 'scheduled' && job.after === undefined) {
    queue.scheduled.delete(id);
    queue.toBack(id, job, queue.now, job.lifo !== undefined);
  }
  return job.status === 'pending' ? 'pending' : 'refused';
}

export function update(queue: MemoryQueue, id: string, payload: string, name: string): UpdateOutcome {
  const job = queue.job(id);
  if (!job) {
    return 'missing';
  }
  if (!isWaiting(job) || (name !== '' && job.name !== name)) {
    return 'refused';
  }
  replacePayload(job, payload);
  return 'updated';
}

/** Replaces the payload of a job, to which no checkpoint and no step of the old one belongs. */
export function replacePayload(job: Hash, payload: string): void {
  job.payload = payload;
  delete job.checkpoint;
  delete job.steps;
}

export function setPriority(queue: MemoryQueue, id: string, priority: number): UpdateOutcome {
  const job = queue.job(id);
  if (!job) {
    return 'missing';
  }
  if (!isWaiting(job)) {
    return 'refused';
  }
  if (Number(job.priority ?? 0) === priority) {
    return 'updated';
  }
  const isPending = job.status === 'pending';
  if (isPending) {
    queue.takeOut(id);
  }
  ['priority', 'rank', 'lifo'].forEach((field) => delete job[field]);
  if (priority > 0) {
    job.priority = String(priority);
    leavePlain(job);
  }
  if (isPending) {
    queue.toEnd(id, job, undefined); // its old rank is gone
  }
  return 'updated';
}

/** The fields of a job that no new start keeps. */
const OF_ALL_RUNS =
  'errors crashes next_crash_is_last cancel_requested_at_ms expires_at_ms unhandled unhandled_at_ms after after_delay_ms ' +
  'unmet rate_limited snoozes';

/** Gives a job all its attempts again, without these fields of its last run. */
export function restart(job: Hash, ofTheRun: string): void {
  `${OF_ALL_RUNS} ${ofTheRun}`.split(' ').forEach((field) => delete job[field]);
  Object.assign(job, { attempts: '0', claimed_at_ms: '0' });
}

export function runAgain(queue: MemoryQueue, id: string, request: string): RestartOutcome {
  const job = queue.job(id);
  if (!job) {
    return 'missing';
  }
  if (job.run_again_request === request) {
    return 'pending';
  }
  if (job.status !== 'completed' && job.status !== 'cancelled') {
    return 'refused';
  }
  removeFirst(queue[job.status], id);
  queue.forgottenAt.delete(id);
  restart(
    job,
    'result completed_at_ms cancelled_at_ms cancel_request progress checkpoint steps last_error last_error_at_ms',
  );
  job.run_again_request = request;
  leavePlain(job);
  regainKey(queue, id, job);
  queue.toEnd(id, job, queue.now);
  jobReopened(queue, id, job);
  queue.count('rerun');
  return 'pending';
}
