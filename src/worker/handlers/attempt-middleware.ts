import { compose, type Link } from '../../queue/model/compose.js';
import type { EnqueueMiddleware } from '../../queue/enqueue/enqueue-middleware.js';
import type { HandlerFunction } from './handler.js';
import type { Job } from './job.js';
import type { WorkerEvent } from './worker-event.js';
import { isStreamed, streamed } from './stream-writer.js';

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
