// Apart from encode-job.ts, because each thread loads this check, and needs no table of options.
import { InvalidOptionError } from '../errors/errors.js';
import { show } from '../errors/show.js';

/**
 * Checks that jobs are a list of objects with a payload and options.
 *
 * @throws InvalidOptionError
 */
export function validateBulk<Job>(jobs: readonly Job[]): readonly Job[] {
  if (!Array.isArray(jobs)) {
    throw new InvalidOptionError('enqueueMany', 'an array of { payload, … }', show(jobs));
  }
  const wrong = jobs.findIndex((job) => typeof job !== 'object' || job === null || isBare(job));
  if (wrong !== -1) {
    const hint = 'Write each job as { payload: … }.';
    throw new InvalidOptionError(`enqueueMany[${wrong}]`, 'an object with a payload', show(jobs[wrong]), hint);
  }
  return jobs as readonly Job[];
}

/** Returns whether an item is probably the payload itself. */
function isBare(job: object): boolean {
  return !('payload' in job) && Object.keys(job).length > 0;
}
