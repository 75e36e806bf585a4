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
  const wrong = jobs.findIndex((job) => typeof job !== 'object' || job === null);
  if (wrong !== -1) {
    throw new InvalidOptionError(`enqueueMany[${wrong}]`, 'an object with a payload', show(jobs[wrong]));
  }
  return jobs as readonly Job[];
}
