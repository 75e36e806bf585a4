// Middleware of the simulated fleet. It adds a mark to each enqueue, and records the way of each attempt. It throws now and
// then.
import type { EnqueueMiddleware } from '#queue/enqueue/enqueue-middleware.js';
import type { AttemptMiddleware } from '#worker/handlers/attempt-middleware.js';
import type { Job } from '#worker/handlers/job.js';
import type { Random } from '../../chaos/random.js';
import type { History } from '../history/history.js';
import { ENQUEUE_MARKS, MIDDLEWARE_THROWS } from '../history/middleware-rules.js';

const REFUSED_SHARE = 0.05;
const THROWN_SHARE = 0.03;

/** The error of a middleware that lets no request pass. Nothing was sent. */
export class RefusedByMiddleware extends Error {}

export function enqueueMiddleware(random: Random): EnqueueMiddleware[] {
  const passed = new Set<string | undefined>();
  const marking = ENQUEUE_MARKS.map((mark): EnqueueMiddleware => ({
    enqueue: (request, next) => {
      request.jobs.forEach(({ options }) => {
        options.metadata = { ...options.metadata, marks: `${options.metadata?.marks ?? ''}${mark}` };
      });
      return next();
    },
  }));
  const refusing: EnqueueMiddleware = {
    enqueue: ({ jobs }, next) => {
      const id = jobs[0]?.options.id;
      // A repeat must pass, because an earlier call may have written the job.
      if (!passed.has(id) && random.chance(REFUSED_SHARE)) {
        throw new RefusedByMiddleware();
      }
      passed.add(id);
      return next();
    },
  };
  return [...marking, refusing];
}

export function attemptMiddleware(history: History, random: Random): AttemptMiddleware[] {
  return ['outer', 'inner'].map((name) => {
    const around = async (jobs: readonly Job[], next: () => Promise<unknown>) => {
      jobs.forEach((job) => history.middleware.enters(name, job));
      try {
        throwNowAndThen(random);
        const result = await next();
        throwNowAndThen(random);
        return result;
      } catch (error) {
        jobs.forEach((job) => history.threw(job));
        throw error;
      } finally {
        jobs.forEach((job) => history.middleware.leaves(name, job));
      }
    };
    return { attempt: (job, next) => around([job], next), bulk: around };
  });
}

function throwNowAndThen(random: Random): void {
  if (random.chance(THROWN_SHARE)) {
    throw new Error(MIDDLEWARE_THROWS);
  }
}
