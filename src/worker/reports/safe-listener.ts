import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import { SafeLogger } from '../../queue/errors/safe-logger.js';
import type { AttemptMiddleware } from '../handlers/attempt-middleware.js';
import type { WorkerEventListener } from '../handlers/worker-event.js';

/** What the log says of a listener's error. */
export const LISTENER_THREW =
  'A listener of job events threw an error; the others got the event. Catch errors inside the listener';

/** Wraps a listener of the application, so that its errors and rejections affect nothing else. */
export function safeListener<Event>(
  listener: ((event: Event) => void) | undefined,
  logger: JobQueueLogger,
): ((event: Event) => void) | undefined {
  const report = (error: unknown) => SafeLogger.of(logger).error(LISTENER_THREW, error);
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

/** Returns a listener that passes each event to the middleware, then to the application. Undefined if none of them listens. */
export function eventListener(
  middleware: readonly AttemptMiddleware[],
  own: WorkerEventListener | undefined,
  logger: JobQueueLogger,
): WorkerEventListener | undefined {
  const acting = middleware.filter((each) => each.event);
  const listeners = [
    ...acting.map(
      (each): WorkerEventListener =>
        (event) =>
          each.event!(event),
    ),
    ...(own ? [own] : []),
  ];
  const safe = listeners.map((listener) => safeListener(listener, logger)!);
  return safe.length > 0 ? (event) => safe.forEach((listener) => listener(event)) : undefined;
}
