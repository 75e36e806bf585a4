// The unit test of the consumers without a test runner: Node's own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Test } from '@nestjs/testing';
import { JobQueueService } from 'nest-job-queue';
import { JobQueueTesting, JobQueueTestingModule } from 'nest-job-queue/testing';
import { DoubleHandler, jobs } from './app.js';

void test('a queue in memory', async () => {
  const module = await Test.createTestingModule({
    imports: [JobQueueTestingModule.forTest()],
    providers: [DoubleHandler],
  }).compile();
  await module.init();
  const testing = module.get(JobQueueTesting);
  const job = await module.get(JobQueueService).enqueue(jobs.double, 4);
  assert.equal(testing.enqueued(jobs.double).length, 1);
  await testing.drain();
  assert.deepEqual(await job.result(), { value: 8, pid: process.pid });
  await module.close();
});
