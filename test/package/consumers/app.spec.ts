import { Test } from '@nestjs/testing';
import { JobQueueService } from 'nest-job-queue';
import { JobQueueTesting, JobQueueTestingModule, runHandler } from 'nest-job-queue/testing';
import { DoubleHandler, runOneJob } from './app.js';

test('a handler by itself', async () => {
  expect(await runHandler(DoubleHandler, 4, { name: `double-${process.env.CONSUMER}` })).toBe(8);
});

test('a queue in memory, with the matcher', async () => {
  const module = await Test.createTestingModule({
    imports: [JobQueueTestingModule.forTest()],
    providers: [DoubleHandler],
  }).compile();
  await module.init();
  const name = `double-${process.env.CONSUMER}`;
  await module.get(JobQueueService).enqueue(name, 4);
  await module.get(JobQueueTesting).drain();
  expect(module.get(JobQueueService)).toBeDefined();
  await module.close();
});

test('a job on Redis', async () => {
  expect(await runOneJob()).toBe(42);
}, 60_000);
