import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { JOB_CONTEXT, NonRetryableError, RetryLaterError } from 'nest-job-queue';

/** An external service is busy and says when to retry. */
export class GatewayBusy extends Error {
  constructor(readonly retryAfterMs: number) {
    super(`busy for ${retryAfterMs} ms`);
  }
}

/** The subject of a job does not exist, and never will. */
export class Unknown extends Error {}

/** Maps errors of this app to a later retry or a final failure. */
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
