// An ES-module app that installed the package (compiled and run by scripts/check/check-package.mjs).
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import * as imported from 'nest-job-queue';
import { InjectQueue, JobHandler, JobQueue, JobQueueModule, JobQueueService } from 'nest-job-queue';
import { runHandler } from 'nest-job-queue/testing';
import type { Job, JobHandle, JobQueueModuleOptions, JobQueueOptionsFactory, QueueStats } from 'nest-job-queue';

const required = createRequire(import.meta.url)('nest-job-queue') as typeof imported;

assert.deepEqual(new Set(Object.keys(required)), new Set(Object.keys(imported)));

// One copy for import and require, wherever Node can require an ES module: two would mean two injection tokens.
if (process.features.require_module) {
  for (const [name, value] of Object.entries(imported)) {
    assert.equal((required as Record<string, unknown>)[name], value, `${name} exists twice`);
  }
}

@JobHandler('email', { maxAttempts: 5, backoff: { type: 'exponential', delayMs: 1_000 } })
class EmailHandler {
  async handle(job: Job<{ to: string }>) {
    await job.progress({ percent: 50 });
    return { to: job.payload.to, aborted: job.signal.aborted };
  }

  @JobHandler('video')
  encode({ payload, fence }: Job<string>) {
    return `${payload} ${fence}`;
  }
}

@Injectable()
class Producer {
  constructor(
    readonly jobs: JobQueueService,
    @InjectQueue('video') readonly videos: JobQueue,
  ) {}

  async produce(): Promise<[number, QueueStats]> {
    const job: JobHandle<{ n: number }> = await this.jobs.enqueue('email', { to: 'ada' }, { delayMs: 5_000 });
    const { n } = await job.result({ timeoutMs: 1_000 });
    await this.jobs.enqueueMany('email', [{ payload: 1, priority: 5 }], { queue: 'jobs' });
    return [n, await this.jobs.queue('email').stats()];
  }
}

class Options implements JobQueueOptionsFactory {
  createJobQueueOptions(): JobQueueModuleOptions {
    return {
      redis: { host: 'cache' },
      queues: { jobs: { concurrency: 20 } },
      maintenance: { cron: '*/10 * * * * *' },
    };
  }
}

@Module({
  imports: [
    JobQueueModule.forRoot({ concurrency: 50, redis: process.env['REDIS_URL'], version: process.env['COMMIT'] }),
  ],
  providers: [EmailHandler, Producer],
})
class AppModule {}

assert.equal(JobQueueModule.forRootAsync({ useClass: Options }).module, JobQueueModule);
assert.throws(() => JobQueueModule.forRootAsync({}), imported.InvalidOptionError);
// @ts-expect-error -- a misspelt option
JobQueueModule.forRoot({ concurency: 5 });
// @ts-expect-error -- and one of a handler
JobHandler('email', { timeout: 5 });
assert.ok(AppModule);

// The boot with a handler in threads finds what each thread begins with, though no Redis.
@JobHandler('render', { thread: import.meta.url })
class RenderHandler {}

@Module({ imports: [JobQueueModule.forRoot({ redis: { port: 1 } })], providers: [RenderHandler] })
class ThreadsModule {}

const app = await NestFactory.createApplicationContext(ThreadsModule, { logger: false, abortOnError: false });
await app.close();

// Queues in memory, in the place of the module.
assert.deepEqual(await runHandler(EmailHandler, { to: 'ada' }, { name: 'email' }), { to: 'ada', aborted: false });

console.log(`import: ${Object.keys(imported).length} exports`);
