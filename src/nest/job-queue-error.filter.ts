import { type ArgumentsHost, Catch, HttpException, HttpStatus, Logger } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { JobQueueError } from '../queue/errors/errors.js';

/** The message of an answer that must not tell a client how the server is built. */
const PUBLIC_MESSAGES: Partial<Record<HttpStatus, string>> = {
  [HttpStatus.SERVICE_UNAVAILABLE]: 'Jobs are not accepted now. Try again later.',
  [HttpStatus.GATEWAY_TIMEOUT]: 'The job has not ended yet.',
};

/** The status of each error that a controller can meet. Any other one is a fault of the app: 500. */
export const STATUSES: ReadonlyMap<string, HttpStatus> = new Map<string, HttpStatus>([
  ['INVALID_PAYLOAD', HttpStatus.BAD_REQUEST],
  ['STREAM_CURSOR', HttpStatus.BAD_REQUEST],
  ['JOB_NOT_FOUND', HttpStatus.NOT_FOUND],
  ['SCHEDULE_NOT_FOUND', HttpStatus.NOT_FOUND],
  ['BATCH_NOT_FOUND', HttpStatus.NOT_FOUND],
  ['JOB_CANCELLED', HttpStatus.CONFLICT],
  ['BATCH_SEALED', HttpStatus.CONFLICT],
  ['SIGNAL_REFUSED', HttpStatus.CONFLICT],
  ['QUEUE_FULL', HttpStatus.SERVICE_UNAVAILABLE],
  ['ENQUEUE', HttpStatus.SERVICE_UNAVAILABLE],
  ['PUBLISH', HttpStatus.SERVICE_UNAVAILABLE],
  ['DURABILITY_TIMEOUT', HttpStatus.SERVICE_UNAVAILABLE],
  ['REDIS_OUT_OF_MEMORY', HttpStatus.SERVICE_UNAVAILABLE],
  ['REDIS_STATE', HttpStatus.SERVICE_UNAVAILABLE],
  ['REDIS_UNSUITABLE', HttpStatus.SERVICE_UNAVAILABLE],
  ['QUEUE_CLOSED', HttpStatus.SERVICE_UNAVAILABLE],
  ['JOB_TIMEOUT', HttpStatus.GATEWAY_TIMEOUT],
  ['BATCH_TIMEOUT', HttpStatus.GATEWAY_TIMEOUT],
]);

/**
 * Answers requests whose controller met an error of this library. A wrong payload gets 400, a job that is gone 404. A
 * conflict gets 409, a timeout 504. A queue that takes no jobs gets 503, and its cause goes to the log only. Nest logs
 * any other error and answers 500, as without the filter. Errors of jobs and of other transports pass through.
 *
 * @example providers: [{ provide: APP_FILTER, useClass: JobQueueErrorFilter }]
 */
@Catch(JobQueueError)
export class JobQueueErrorFilter extends BaseExceptionFilter<JobQueueError> {
  private readonly logger = new Logger(JobQueueErrorFilter.name);

  /** Answers the request, called by Nest. */
  override catch(error: JobQueueError, host: ArgumentsHost): void {
    if (host.getType() !== 'http') {
      throw error;
    }
    const statusCode = STATUSES.get(error.code);
    if (statusCode === HttpStatus.SERVICE_UNAVAILABLE) {
      this.logger.warn(`Answered a request with 503: ${error.name}: ${error.message}`);
    }
    BaseExceptionFilter.prototype.catch.call(this, statusCode ? answer(error, statusCode) : error, host);
  }
}

function answer(error: JobQueueError, statusCode: HttpStatus): HttpException {
  const message = PUBLIC_MESSAGES[statusCode] ?? error.message;
  return new HttpException({ statusCode, error: error.code, message }, statusCode, { cause: error });
}
