// The names of jobs that a producer of the Redis pattern stored without one; see lua/attempt/set-name and lua/lib/foreign/note_name.
import type { NamedClaim } from '../../../queue/store/store-calls.js';
import type { Hash, MemoryQueue } from '../../state/memory-queue.js';

/** The options of a job whose name was found, but not its retries. */
const NAMELESS = '{"nameless":true}';

/** Sets the name of a claimed job, and the retries of the pattern. Returns false if the job has a name of its producer. */
export function setName(queue: MemoryQueue, { id, token, name, options }: NamedClaim): boolean {
  const job = queue.job(id);
  if (job?.claim_token !== token || (job.name !== undefined && job.options !== NAMELESS)) {
    return false;
  }
  const { maxAttempts, backoff } = options;
  delete job.options;
  Object.assign(job, {
    name,
    ...((maxAttempts !== undefined || backoff !== undefined) && {
      options: JSON.stringify({ maxAttempts, backoff }),
    }),
    ...(maxAttempts !== undefined && { max_attempts: String(maxAttempts) }),
  });
  return true;
}

/** Stores the name that was found in the payload. The next claimer sets the retries. */
export function noteName(job: Hash, name: string): void {
  if (job.name === undefined) {
    Object.assign(job, { name, options: NAMELESS });
  }
}
