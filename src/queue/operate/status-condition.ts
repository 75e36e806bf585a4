import { InvalidOptionError } from '../errors/errors.js';
import { JOB_STATUSES, type JobStatus } from '../model/job.js';
import type { StatusCondition } from '../store/job-ref.js';
import { show } from '../errors/show.js';
import { checkKnown } from '../validation/validate-options.js';

/**
 * Returns the required status, or undefined for any.
 *
 * @throws InvalidOptionError
 */
export function statusOf(verb: string, options: StatusCondition): JobStatus | undefined {
  checkKnown(verb, options, ['ifStatus']);
  const { ifStatus } = options;
  if (ifStatus !== undefined && !JOB_STATUSES.includes(ifStatus)) {
    throw new InvalidOptionError(`${verb}.ifStatus`, JOB_STATUSES.join(', '), show(ifStatus));
  }
  return ifStatus;
}
