import { checkCount, checkObject } from '../validation/validate-options.js';
import { InvalidOptionError } from '../errors/errors.js';
import type { ClaimRef, ClaimedJob } from '../model/job.js';
import { checkText } from '../validation/names.js';
import { show } from '../errors/show.js';

/**
 * Returns the fields of a claim that a settle needs.
 *
 * @throws InvalidOptionError
 */
export function claimOf(job: ClaimRef): ClaimRef {
  checkObject('job', 'a claimed job', job);
  const { id, token, fence } = job;
  checkText('job.id', id);
  if (typeof token !== 'string' || token === '') {
    throw new InvalidOptionError('job.token', 'the token of a claim', show(token));
  }
  checkCount('job.fence', fence, 0, Number.MAX_SAFE_INTEGER);
  return { id, token, fence };
}

/** Returns the same of a claim whose attempt and options count too. */
export function failedClaimOf(job: ClaimedJob): ClaimRef {
  const claim = claimOf(job);
  checkCount('job.attempt', job.attempt, 0, Number.MAX_SAFE_INTEGER);
  checkObject('job.options', 'the options of a claimed job', job.options);
  return claim;
}
