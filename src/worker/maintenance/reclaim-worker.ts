import type { JobQueue } from '../../queue/job-queue.js';
import { LONGEST_TRIP_MS } from '../../queue/runtime/bounds.js';
import type { EndReports } from './end-reports.js';

/** About how many claims one script call reads. */
const SLICE = 200;

/** Reclaims the claims of a worker in a queue. The caller has proof that the worker's process has ended. */
export async function reclaimWorker(queue: JobQueue, worker: string, reports: EndReports): Promise<void> {
  let cursor = '0';
  do {
    const reply = await queue.exec((calls) => calls.sweep.reclaimWorker({ worker, cursor, limit: SLICE }), {
      timeoutMs: LONGEST_TRIP_MS,
    });
    await reports.reclaimed(queue, reply.reclaimed);
    cursor = reply.cursor;
  } while (cursor !== '0');
}
