import type { ClaimedJob } from '../queue/job.js';
import type { JobQueue } from '../queue/job-queue.js';
import type { QueueScripts } from '../queue/queue-scripts.js';

/**
 * Stores, before a handler starts, what must hold where it kills its worker: the name, since the handler's limits are
 * found by it, and that a held job is held no more. Answers false where the claim turns out to be lost.
 */
export async function tellStart(
  { queue, scripts }: { queue: JobQueue; scripts: QueueScripts },
  claim: ClaimedJob,
  warn: (message: string) => void,
): Promise<boolean> {
  try {
    if (claim.nameless) {
      await queue.runner.run(scripts.name(claim));
    }
    return !claim.alone || (await queue.runner.run(scripts.start(claim)));
  } catch (error) {
    warn(`The start of job ${claim.id} of queue "${queue.name}" was not stored: ${(error as Error).message}`);
    return true;
  }
}
