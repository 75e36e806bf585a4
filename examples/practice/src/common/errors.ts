import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { JOB_CONTEXT, NonRetryableError, RetryLaterError } from 'nest-job-queue';

/** A service outside is busy and says when to come back. */
export class GatewayBusy extends Error {
  constructor(readonly retryAfterMs: number) {
    super(`busy for ${retryAfterMs} ms`);
  }
}

/** What a job is about does not exist, and never will. */
export class Unknown extends Error {}

/** Decides what the errors of this app become in jobs: later, or never. */
@Catch(GatewayBusy, Unknown)
export class JobErrorFilter implements ExceptionFilter {
  catch(error: GatewayBusy | Unknown, host: ArgumentsHost): never {
    const type: string = host.getType();
    if (type !== JOB_CONTEXT) {
      throw error;
    }
    throw error instanceof GatewayBusy
      ? new RetryLaterError(error.retryAfterMs, error.message)
      : new NonRetryableError(error.message, { cause: error });
  }
}
