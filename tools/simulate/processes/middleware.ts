// Middleware of the simulated fleet. It adds a mark to each enqueue, and records the way of each attempt.
import type { EnqueueMiddleware } from '#queue/enqueue/enqueue-middleware.js';
import type { AttemptMiddleware } from '#worker/handlers/attempt-middleware.js';
import type { Job } from '#worker/handlers/job.js';
import type { History } from '../history/history.js';

/** The middleware of producers, the first outermost. */
export const ENQUEUE_MARKS = ['a', 'b'] as const;

/** The mark of a job that passed both. */
export const BOTH_MARKS = ENQUEUE_MARKS.join('');

export function enqueueMiddleware(): EnqueueMiddleware[] {
  return ENQUEUE_MARKS.map((mark) => ({
    enqueue: (request, next) => {
      request.jobs.forEach(({ options }) => {
        options.metadata = { ...options.metadata, marks: `${options.metadata?.marks ?? ''}${mark}` };
      });
      return next();
    },
  }));
}

export function attemptMiddleware({ middleware }: History): AttemptMiddleware[] {
  return ['outer', 'inner'].map((name) => {
    const around = async (jobs: readonly Job[], next: () => Promise<unknown>) => {
      jobs.forEach((job) => middleware.enters(name, job));
      try {
        return await next();
      } finally {
        jobs.forEach((job) => middleware.leaves(name, job));
      }
    };
    return { attempt: (job, next) => around([job], next), bulk: around };
  });
}
