import { checkKnown, checkMs } from '../validation/validate-options.js';
import { InvalidOptionError } from '../errors/errors.js';
import { YEAR_MS } from '../runtime/bounds.js';
import { checkRunAt } from '../validation/run-at.js';

/** The start of a job: after a number of ms, or at a time. */
export type Start = { delayMs: number } | { runAt: Date | number };

/**
 * Checks the new start of a job, and returns it as the script takes it.
 *
 * @throws InvalidOptionError
 */
export function checkRescheduleOptions(start: Start): { delayMs: number } | { runAtMs: number } {
  checkKnown('reschedule', start, ['delayMs', 'runAt']);
  const { delayMs, runAt } = start as { delayMs?: number; runAt?: Date | number };
  if ((delayMs === undefined) === (runAt === undefined)) {
    throw new InvalidOptionError('reschedule', 'delayMs or runAt', delayMs === undefined ? 'neither' : 'both');
  }
  if (runAt === undefined) {
    checkMs('delayMs', delayMs!, 0, YEAR_MS);
    return { delayMs: delayMs! };
  }
  checkRunAt('runAt', runAt);
  return { runAtMs: Math.round(Number(runAt)) };
}

/** Returns the error for a start after the job's expiry; all times are those of the server, from now. */
export function lateStart(
  start: Start,
  { startsInMs, expiresInMs }: { startsInMs: number; expiresInMs: number },
): InvalidOptionError {
  const subject = `reschedule.${'delayMs' in start ? 'delayMs' : 'runAt'}`;
  return expiresInMs > 0
    ? new InvalidOptionError(
        subject,
        `a start before the job expires, in ${expiresInMs} ms`,
        `${startsInMs} ms from now`,
      )
    : new InvalidOptionError(subject, 'a job that has not expired', `one that did ${-expiresInMs} ms ago`);
}
