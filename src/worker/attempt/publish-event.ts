import type { ClaimedJob } from '../../queue/model/job.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { QueueCalls } from '../../queue/store/queue-calls.js';
import { LONGEST_TRIP_MS, runSupervised } from './run-with-timeout.js';

/** Tells whoever listens to the queue's events what only this worker knows. What cannot be told harms nothing. */
export async function publishEvent(
  { queue, scripts }: { queue: JobQueue; scripts: QueueCalls },
  claim: ClaimedJob,
  status: 'lost' | 'stuck',
  warn: (message: string) => void,
): Promise<void> {
  if (queue.options.events === 'off') {
    return;
  }
  try {
    await runSupervised(queue, scripts.tell(claim, status), LONGEST_TRIP_MS);
  } catch (error) {
    warn(
      `The event "${status}" of job ${claim.id} of queue "${queue.name}" was missed: ${(error as Error).message}`,
    );
  }
}
