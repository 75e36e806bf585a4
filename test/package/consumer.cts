// A CommonJS app that installed the package (compiled and run by scripts/check/check-package.mjs).
import assert = require('node:assert');
import common = require('@nestjs/common');
import core = require('@nestjs/core');
import library = require('nest-job-queue');
import health = require('nest-job-queue/health');
import testing = require('nest-job-queue/testing');

@library.JobHandler('email', { concurrency: 10 })
class EmailHandler {
  handle(job: library.Job<{ to: string }>) {
    return job.payload.to;
  }
}

@common.Module({
  imports: [library.JobQueueModule.forRootAsync({ useFactory: () => ({ worker: false }) })],
  providers: [EmailHandler],
})
class AppModule {}

const check: health.JobQueueHealthOptions = { requireWorker: true, maxOldestPendingAgeMs: 60_000 };
assert.ok(AppModule && check && health.JobQueueHealthIndicator);

// The boot with a handler in threads finds what each thread begins with, though no Redis.
@library.JobHandler('render', { thread: __filename })
class RenderHandler {}

@common.Module({
  imports: [library.JobQueueModule.forRoot({ redis: { port: 1 } })],
  providers: [RenderHandler],
})
class ThreadsModule {}

async function boot() {
  const app = await core.NestFactory.createApplicationContext(ThreadsModule, {
    logger: false,
    abortOnError: false,
  });
  await app.close();
  assert.equal(await testing.runHandler(EmailHandler, { to: 'ada' }), 'ada');
  console.log(`require: ${Object.keys(library).length} exports`);
}
// Otherwise a promise that stays pending would end the process with 0.
process.exitCode = 1;
void boot().then(() => (process.exitCode = 0));
