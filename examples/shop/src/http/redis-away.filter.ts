import { Catch, ServiceUnavailableException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { Response } from 'express';
import { EnqueueError, RedisOutOfMemoryError, RedisUnsuitableError } from 'nest-job-queue';

/** Turns errors of an unreachable or full Redis into a 503 that says what became of the jobs. */
@Catch(EnqueueError, RedisOutOfMemoryError, RedisUnsuitableError)
export class RedisAwayFilter implements ExceptionFilter<Error> {
  catch({ message }: Error, host: ArgumentsHost): void {
    const away = new ServiceUnavailableException(message);
    host.switchToHttp().getResponse<Response>().status(away.getStatus()).json(away.getResponse());
  }
}
