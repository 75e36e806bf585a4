import { serializeError } from '../../queue/errors/serialize-error.js';
import { backoffDelay } from '../../queue/model/backoff.js';
import type { ClaimedJob } from '../../queue/model/job.js';
import type { Clock } from '../../queue/runtime/clock.js';
import type { Failure } from '../../queue/store/store-calls.js';
import type { Handler } from '../handlers/handler.js';

/** A claim whose attempt fails, and its handler. */
interface Failing {
  readonly claim: ClaimedJob;
  readonly handler: Pick<Handler, 'backoff'>;
  readonly clock: Clock;
  /** True if the handler was called, so that the attempt counts. */
  readonly begun: boolean;
}

/** Returns the failure that an error of an attempt means. @param final whether no attempt follows */
export function failureOf({ claim, handler, clock, begun }: Failing, error: unknown, final: boolean): Failure {
  const { id, token, fence } = claim;
  const failure: Failure = { id, token, fence, error: serializeError(error), final, backoffMs: 0, begun };
  try {
    const backoff = claim.options.backoff ?? handler.backoff;
    failure.backoffMs = backoffDelay(backoff, claim.attempt, error, clock.random(), claim);
  } catch (fault) {
    // An error of the user's backoff function must not hide the job's error.
    failure.error = {
      ...failure.error,
      message: `${failure.error.message} (and ${serializeError(fault).message})`,
    };
  }
  return failure;
}
