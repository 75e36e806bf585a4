import type { ClaimedJob } from '../model/job.js';
import { show } from '../errors/show.js';
import type { QueueStore } from './queue-store.js';

/** The least interval between two such lines of one queue, in ms. */
const QUIET_MS = 60_000;

/** Returns a function that logs that a job of an encrypted queue was stored unencrypted. */
export function plainJobWarning(queue: { name: string; store: QueueStore }): (job: ClaimedJob) => void {
  let saidAtMs = -Infinity;
  return ({ id }) => {
    const { clock, logger } = queue.store;
    if (clock.monotonic() - saidAtMs < QUIET_MS) {
      return;
    }
    saidAtMs = clock.monotonic();
    logger.warn(
      `Queue ${show(queue.name)} is encrypted, but job ${show(id)} was stored in the clear: by a process without the codec, by a ` +
        'client of the Redis pattern, or before the queue had the codec. It runs. Give all processes of the queue the codec.',
    );
  };
}
