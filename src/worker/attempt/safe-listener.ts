import type { JobQueueLogger } from '../../queue/model/logger.js';
import type { WorkerEventListener } from './worker-event.js';

/** A listener of the application's that throws harms nothing but itself. */
export function guardedListener(
  listener: WorkerEventListener | undefined,
  logger: JobQueueLogger,
): WorkerEventListener | undefined {
  return (
    listener &&
    ((event) => {
      try {
        listener(event);
      } catch (error) {
        logger.error(`A listener for job events threw: ${(error as Error)?.stack ?? String(error)}`);
      }
    })
  );
}
