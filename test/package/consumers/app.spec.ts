// The unit test of the consumers with a test runner. Their set-up imports the matcher of Jest or Vitest.
import { Test } from '@nestjs/testing';
import { JobQueueService } from 'nest-job-queue';
import { JobQueueTesting, JobQueueTestingModule, runHandler } from 'nest-job-queue/testing';
import { DoubleHandler, jobs, runApp } from './app.js';

test('a handler by itself', async () => {
  expect(await runHandler(DoubleHandler, 4, { name: jobs.double })).toEqual({ value: 8, pid: process.pid });
});

test('a queue in memory, with the matcher', async () => {
  const module = await Test.createTestingModule({
    imports: [JobQueueTestingModule.forTest()],
    providers: [DoubleHandler],
  }).compile();
  await module.init();
  const testing = module.get(JobQueueTesting);
  const job = await module.get(JobQueueService).enqueue(jobs.double, 4);
  expect(testing).toHaveEnqueued(jobs.double, 4);
  expect(testing).not.toHaveEnqueued(jobs.square);
  await testing.drain();
  expect(await job.result()).toEqual({ value: 8, pid: process.pid });
  await module.close();
});

test('the app on Redis: a job, a thread, the health check', async () => {
  expect(await runApp()).toEqual({ doubled: 42, squared: 36, health: 'up' });
}, 60_000);
