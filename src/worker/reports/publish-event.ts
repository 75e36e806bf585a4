import type { ClaimedJob } from '../../queue/model/job.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import { LONGEST_TRIP_MS } from '../../queue/runtime/bounds.js';

/** Publishes an event that only this worker knows. A failure is ignored, because events may be lost. */
export async function publishEvent(
  { queue, calls }: { queue: JobQueue; calls: StoreCalls },
  claim: ClaimedJob,
  status: 'lost' | 'stuck',
  warn: (message: string) => void,
): Promise<void> {
  if (queue.options.events === 'off') {
    return;
  }
  try {
    await queue.store.exec(calls.publish(claim, status), { timeoutMs: LONGEST_TRIP_MS });
  } catch (error) {
    warn(
      `Could not publish the event "${status}" of job ${claim.id} of queue "${queue.name}": ${(error as Error).message}`,
    );
  }
}
