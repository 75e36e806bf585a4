import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import { SafeLogger } from '../../queue/errors/safe-logger.js';

/** A listener of the application's that throws, or whose promise rejects, harms nothing but itself. */
export function safeListener<Event>(
  listener: ((event: Event) => void) | undefined,
  logger: JobQueueLogger,
): ((event: Event) => void) | undefined {
  const report = (error: unknown) => SafeLogger.of(logger).error('A listener for job events threw', error);
  const call = listener;
  return (
    call &&
    ((event) => {
      try {
        const returned: unknown = call(event);
        if (returned !== undefined) {
          Promise.resolve(returned).catch(report);
        }
      } catch (error) {
        report(error);
      }
    })
  );
}
