// The entry of the worker processes: each runs this file, or the bundle of it, again.
import assert from 'node:assert/strict';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobQueueModule, JobQueueService } from 'nest-job-queue';
import { runWorkers } from 'nest-job-queue/workers';
import { AppModule, jobs, threadsAreRefused } from './app.js';

@Module({ imports: [JobQueueModule.forRoot({ worker: false })] })
class CallerModule {}

// Otherwise a promise that stays pending would end the process with 0.
process.exitCode = 1;
void main().then(() => (process.exitCode = 0));

async function main(): Promise<void> {
  const workers = await runWorkers(AppModule, { processes: 1, ownsProcess: false, logger: ['error', 'warn'] });
  const app = await NestFactory.createApplicationContext(CallerModule, { logger: ['error', 'warn'] });
  const service = app.get(JobQueueService);
  const double = await service.enqueue<{ value: number; pid: number }>(jobs.double, 21);
  const { value, pid } = await double.result({ timeoutMs: 30_000 });
  assert.deepEqual({ value, pid }, { value: 42, pid: workers.status()[0]?.pid });
  if (!threadsAreRefused) {
    const square = await service.enqueue<object>(jobs.square, 6);
    assert.deepEqual(await square.result({ timeoutMs: 30_000 }), { value: 36, inThread: true });
  }
  await app.close();
  assert.equal((await workers.stop()).exitCode, 0);
  console.log('consumer: jobs in a worker process');
}
