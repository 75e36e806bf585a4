/** @jest-environment ./test/support/own-environment.mjs */

// The package loaded twice in one process, as tsx does: once for ES modules, once for CommonJS modules.
import { expect, it } from '@jest/globals';
import { Inject, Injectable, Module } from '@nestjs/common';
import { JobFailedError, JobQueue, JobQueueError, JobQueueModule, JobQueueService } from 'nest-job-queue';
import { connect, testRedisUrl, uniqueQueueName } from '../../support/redis/redis.js';
import { handlerOf, startApp } from '../app.js';

/** Loads a module again, as another copy of it. */
async function copyOf<Exports>(file: string): Promise<Exports> {
  return (await import(`${file}?copy`)) as Exports;
}

type ServiceFile = typeof import('#nest/service/job-queue.service.js');
type StoreFile = typeof import('#queue/redis-store.js');
type ErrorsFile = typeof import('#queue/errors/errors.js');

it('injects the service by the class of each copy, in any module', async () => {
  const { JobQueueService: OtherService } = await copyOf<ServiceFile>(
    '../../../src/nest/service/job-queue.service.ts',
  );
  expect(OtherService).not.toBe(JobQueueService);
  @Injectable()
  class Library {
    constructor(@Inject(OtherService) readonly jobs: JobQueueService) {}
  }
  @Module({ providers: [Library] })
  class LibraryModule {}
  const name = uniqueQueueName();
  const app = await startApp({ imports: [LibraryModule], providers: [handlerOf(name)] });
  const { jobs } = app.get(Library, { strict: false });
  expect(jobs).toBe(app.get(JobQueueService));
  expect(await (await jobs.enqueue(name, null)).result()).toBe('done');

  @Module({ imports: [JobQueueModule.forFeature(name)], providers: [Library] })
  class FeatureModule {}
  const local = await startApp({
    module: JobQueueModule.forRoot({ redis: testRedisUrl(), isGlobal: false }),
    imports: [FeatureModule],
  });
  expect(local.get(Library, { strict: false }).jobs).toBe(local.get(JobQueueService));
});

it('recognises the errors of each copy by their classes', async () => {
  const other = await copyOf<ErrorsFile>('../../../src/queue/errors/errors.ts');
  const thrown = new other.JobFailedError('1', 'no', 1, 'Error');
  expect(thrown).toBeInstanceOf(JobFailedError);
  expect(thrown).toBeInstanceOf(JobQueueError);
  expect(new JobFailedError('1', 'no', 1, 'Error')).toBeInstanceOf(other.JobQueueError);
  expect(thrown instanceof other.ClaimLostError).toBe(false);
  class OfTheApp extends JobFailedError {}
  expect(thrown instanceof OfTheApp).toBe(false);
  const hostile = new Proxy(
    {},
    {
      get: () => {
        throw new Error('no');
      },
    },
  );
  expect(
    [hostile, null, undefined, { constructor: { code: 'JOB_FAILED' } }].map(
      (each) => each instanceof JobFailedError,
    ),
  ).toEqual([false, false, false, false]);
});

it('recognises the store of each copy', async () => {
  const { isRedisStore } = await copyOf<StoreFile>('../../../src/queue/redis-store.ts');
  expect(isRedisStore(new JobQueue(connect(), uniqueQueueName()).store)).toBe(true);
});
