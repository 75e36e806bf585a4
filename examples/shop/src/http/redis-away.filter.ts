import { Catch, ServiceUnavailableException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { Response } from 'express';
import { EnqueueError, RedisUnsuitableError } from 'nest-job-queue';

/** What the library throws where Redis does not answer is no fault of the shop: 503, with what became of the jobs. */
@Catch(EnqueueError, RedisUnsuitableError)
export class RedisAwayFilter implements ExceptionFilter<Error> {
  catch({ message }: Error, host: ArgumentsHost): void {
    const away = new ServiceUnavailableException(message);
    host.switchToHttp().getResponse<Response>().status(away.getStatus()).json(away.getResponse());
  }
}
