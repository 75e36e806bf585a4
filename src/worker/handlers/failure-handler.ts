import type { JobQueue } from '../../queue/job-queue.js';
import { failureJobName, readFailure } from '../../queue/codec/failure-job.js';
import type { WorkerQueue } from './worker-queue.js';
import { withMiddleware, type AttemptMiddleware } from './attempt-middleware.js';
import type { Handler } from './handler.js';

/** Returns the queue with its handlers of failures among the others, under the names of the failure jobs. */
export function withFailureHandlers(served: WorkerQueue): WorkerQueue {
  const { onFailed, ...rest } = served;
  if (!onFailed) {
    return served;
  }
  const tellers = Object.entries(onFailed).map(([name, handler]): [string, Handler] => {
    const given = typeof handler === 'function' ? { handle: handler } : handler;
    const handle = withMiddleware([failureReader(served.queue)], (job) => given.handle(job));
    return [failureJobName(name), { ...given, handle }];
  });
  return { ...rest, handlers: { ...rest.handlers, ...Object.fromEntries(tellers) } };
}

/** Returns middleware that gives the handler the failure instead of the stored text. */
function failureReader({ name, options }: JobQueue): AttemptMiddleware {
  return {
    attempt: (job, next) => {
      job.setPayload(readFailure(name, options.codec, job.payload));
      return next();
    },
  };
}
