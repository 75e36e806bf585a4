import type { JobQueueLogger } from '../../queue/model/logger.js';
import { SafeLogger } from '../../queue/model/safe-logger.js';
import type { WorkerEventListener } from './worker-event.js';

/** A listener of the application's that throws, or whose promise rejects, harms nothing but itself. */
export function guardedListener(
  listener: WorkerEventListener | undefined,
  logger: JobQueueLogger,
): WorkerEventListener | undefined {
  const report = (error: unknown) => SafeLogger.of(logger).error('A listener for job events threw', error);
  const call = listener;
  return (
    call &&
    ((event) => {
      try {
        const returned = call(event);
        if (returned !== undefined) {
          Promise.resolve(returned).catch(report);
        }
      } catch (error) {
        report(error);
      }
    })
  );
}
