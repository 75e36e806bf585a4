import type { EnqueueMiddleware } from '../../queue/enqueue/enqueue-middleware.js';
import { SafeLogger } from '../../queue/errors/safe-logger.js';
import { compose, type Link } from '../../queue/model/compose.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { HandlerFunction } from './handler.js';
import { type Job, isStreamed, streamed } from './job.js';

/** Acts around the attempts of a worker. */
export interface AttemptMiddleware {
  /**
   * Runs around each attempt. Return the value of `next()`, which is the job's result. An error of `next()`, or your own,
   * ends the attempt like an error of the handler.
   */
  attempt?(job: Job, next: () => Promise<unknown>): unknown;
  /**
   * Called once for each call of a bulk handler, with all its jobs; `attempt` is not called for these. Return what `next()`
   * resolves to, the outcomes; a throw fails all jobs of the call.
   */
  bulk?(jobs: readonly Job[], next: () => Promise<unknown>): unknown;
  /**
   * Called for each event of a job here, once Redis has confirmed it. So it also gets ends that no attempt sees: a timeout, an
   * expiry, the last crash. The job of an attempt is the same object as in `attempt`.
   */
  event?(event: WorkerEvent): void;
}

/**
 * Wraps attempts, enqueues, or both. The first of a list is outermost.
 *
 * @example
 * const requestIds: JobQueueMiddleware = {
 *   enqueue(request, next) {
 *     request.jobs.forEach(({ options }) => (options.metadata = { ...options.metadata, requestId: current() }));
 *     return next();
 *   },
 *   attempt: (job, next) => run(job.metadata.requestId, next),
 * };
 */
export interface JobQueueMiddleware extends AttemptMiddleware, EnqueueMiddleware {}

/** Returns the handler wrapped in the middleware, or the handler itself if no middleware acts on attempts. */
export function withMiddleware(middleware: readonly AttemptMiddleware[], handle: HandlerFunction): HandlerFunction {
  const links = middleware
    .filter((each) => each.attempt)
    .map(
      (each): Link<Job, unknown> =>
        (job, next) =>
          each.attempt!(job, next),
    );
  return compose<Job, unknown>(links, links.length > 0 ? writingChunks(handle) : handle);
}

/** Returns the handler, with its chunks written inside of the middleware, which gets the result. */
function writingChunks(handle: HandlerFunction): HandlerFunction {
  return (job) => {
    const returned: unknown = handle(job);
    if (isStreamed(returned)) {
      return streamed(job, returned);
    }
    return returned instanceof Promise
      ? returned.then((value: unknown) => (isStreamed(value) ? streamed(job, value) : value))
      : returned;
  };
}

/** An event of a job in this worker process: `WorkerEvent<EmailPayload>` where a listener knows the payload. */
export interface WorkerEvent<Payload = unknown> {
  /**
   * `started`, then the end of the attempt. `lost`: the claim was reclaimed while the job ran. `stuck`: the handler
   * continues although its signal was aborted. A job that no handler got has only `failed`, `cancelled` or `released`.
   * It was expired, broken, cancelled before, or of an unknown name. Its error is the reason. The last crash of a job
   * is an event of the process whose sweep found it. The cancel of a waiting job is an event of the Nest app that
   * called `cancel`; without Nest see `JobQueue.onCancelled`.
   */
  type: 'started' | 'completed' | 'retry' | 'failed' | 'cancelled' | 'released' | 'lost' | 'stuck';
  /** The job of the event. */
  job: Job<Payload>;
  /** The error of the handler, or the reason why none was called. */
  error?: unknown;
  /** The return value of the handler. */
  result?: unknown;
}

/** Receives the events of a worker's jobs. */
export type WorkerEventListener = (event: WorkerEvent) => void;

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
