import type { ClaimedJob, StoredError } from '../queue/job.js';
import type { JobQueue } from '../queue/job-queue.js';
import type { QueueScripts } from '../queue/queue-scripts.js';

/**
 * Stores, before a handler starts, what must hold where it kills its worker: the name, since the handler's limits are
 * found by it, and that a held job is held no more. Answers where the claim turns out to be lost, and why a job must not
 * start that has expired since its claim. Where Redis gives no answer the job starts.
 */
export async function tellStart(
  { queue, scripts }: { queue: JobQueue; scripts: QueueScripts },
  claim: ClaimedJob,
  warn: (message: string) => void,
): Promise<'started' | 'lost' | StoredError> {
  try {
    if (claim.nameless) {
      await queue.runner.run(scripts.name(claim));
    }
    return claim.alone || claim.expires ? await queue.runner.run(scripts.start(claim)) : 'started';
  } catch (error) {
    warn(`The start of job ${claim.id} of queue "${queue.name}" was not stored: ${(error as Error).message}`);
    return 'started';
  }
}
