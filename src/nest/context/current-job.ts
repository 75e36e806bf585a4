import { AsyncLocalStorage } from 'node:async_hooks';
import type { AttemptMiddleware } from '../../worker/handlers/attempt-middleware.js';
import type { Job } from '../../worker/handlers/job.js';

// One storage for the process, so that both builds of the package find the job.
const STORAGE = Symbol.for('nest-job-queue:current-job');

const storage = ((globalThis as Record<symbol, unknown>)[STORAGE] ??=
  new AsyncLocalStorage<Job>()) as AsyncLocalStorage<Job>;

/**
 * Returns the job whose handler runs, in whatever the handler calls and awaits; undefined outside of jobs. Needs
 * `forRoot({ currentJob: true })` or `logContext`.
 *
 * @example const tenant = currentJob()?.metadata.tenant;
 */
export function currentJob<Payload = unknown>(): Job<Payload> | undefined {
  return storage.getStore() as Job<Payload> | undefined;
}

/** Makes the job of each attempt the current one, for the other middleware too. */
export const currentJobMiddleware: AttemptMiddleware = {
  attempt: (job, next) => storage.run(job, next),
};
