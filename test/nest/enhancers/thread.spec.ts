// A handler in a thread inside of the guards and interceptors of its class.
import { join } from 'node:path';
import { UseGuards, UseInterceptors } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { map } from 'rxjs';
import { getJob, JobHandler, JobQueueService } from 'nest-job-queue';
import { writeExample } from '../../docs/app/files.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { startApp } from '../app.js';

it('runs behind the guard, and its result goes through the interceptor', async () => {
  const name = uniqueQueueName();
  const folder = writeExample({ 'double.mjs': 'export default ({ payload }) => payload * 2;' });
  @JobHandler(name, { thread: join(folder, 'double.mjs'), concurrency: 1, maxAttempts: 3 })
  @UseGuards({ canActivate: (context) => getJob<number>(context).payload < 10 })
  @UseInterceptors({
    intercept: (_context, next) => next.handle().pipe(map((result) => `${String(result)} doubled`)),
  })
  class Handler {}
  const app = await startApp({ providers: [Handler] });
  const jobs = app.get(JobQueueService);
  expect(await (await jobs.enqueue(name, 4)).result()).toBe('8 doubled');
  await expect((await jobs.enqueue(name, 40)).result()).rejects.toMatchObject({
    attempts: 1,
    errorName: 'ForbiddenException',
  });
});
