import type { JobRecord } from '../../queue/model/job.js';

/** Says why a job does not run, in words; null for one that runs or has ended. */
export function whyNotRunning(job: JobRecord, queue: { paused: boolean; workers: number }): string | null {
  if (job.status === 'scheduled') {
    const retry = job.attempts > 0 && job.lastError !== undefined;
    return retry
      ? 'It failed and waits for its next attempt, by its backoff.'
      : 'It is delayed until the time it was asked for.';
  }
  if (job.status !== 'pending') {
    return null;
  }
  if (queue.paused) {
    return 'The queue is paused. Resume it to let this job run.';
  }
  if (queue.workers === 0) {
    return 'No worker handles this queue. Start one, or look for a misspelled name.';
  }
  return 'It waits for a free slot of a worker; the jobs before it come first.';
}
