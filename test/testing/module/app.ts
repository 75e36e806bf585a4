// Apps of the testing module's tests: queues in memory, closed after the test.
import { afterEach } from '@jest/globals';
import type { ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { JobQueueService, type JobQueueModuleOptions } from 'nest-job-queue';
import { JobQueueTesting, JobQueueTestingModule, type JobQueueTestingOptions } from 'nest-job-queue/testing';
import { KeptLog } from '../../nest/app.js';

const open = new Set<TestingModule>();

afterEach(async () => {
  const modules = [...open];
  open.clear();
  await Promise.all(modules.map((each) => each.close()));
});

export interface TestedApp extends ModuleMetadata {
  jobs?: JobQueueModuleOptions;
  testing?: JobQueueTestingOptions;
}

/** Starts an app whose queues are in memory. */
export async function startTested({ jobs, testing, imports = [], ...rest }: TestedApp) {
  const root = JobQueueTestingModule.forTest(jobs, testing);
  return started(
    await Test.createTestingModule({ imports: [root, ...imports], ...rest })
      .setLogger(new KeptLog())
      .compile(),
  );
}

/** Starts a module, which is closed after the test. */
export async function started(moduleRef: TestingModule) {
  open.add(moduleRef);
  await moduleRef.init();
  return {
    moduleRef,
    testing: moduleRef.get(JobQueueTesting),
    jobs: moduleRef.get(JobQueueService, { strict: false }),
  };
}
