// The worker processes of an ES-module app that installed the package (compiled and run by scripts/check/check-package.mjs, by
// `nest start` too).
import assert from 'node:assert/strict';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobHandler, JobQueueModule, JobQueueService } from 'nest-job-queue';
import { runWorkers } from 'nest-job-queue/workers';
import type { Job } from 'nest-job-queue';

@JobHandler('greet-import')
class GreetHandler {
  handle({ payload }: Job<string>) {
    return { greeting: `Hello ${payload}`, pid: process.pid };
  }
}

@Module({ imports: [JobQueueModule.forRoot()], providers: [GreetHandler] })
class AppModule {}

@Module({ imports: [JobQueueModule.forRoot({ worker: false })] })
class CallerModule {}

const workers = await runWorkers(AppModule, { processes: 2, ownsProcess: false, logger: ['error'] });
const app = await NestFactory.createApplicationContext(CallerModule, { logger: ['error'] });
const job = await app.get(JobQueueService).enqueue<{ greeting: string; pid: number }>('greet-import', 'Ada');
const { greeting, pid } = await job.result({ timeoutMs: 60_000 });
assert.equal(greeting, 'Hello Ada');
assert.ok(workers.status().some((each) => each.pid === pid));
await app.close();
assert.equal((await workers.stop()).exitCode, 0);
console.log('import: a job was done in a worker process');
