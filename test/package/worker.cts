// The worker processes of a CommonJS app that installed the package (compiled and run by scripts/check/check-package.mjs).
import assert = require('node:assert/strict');
import common = require('@nestjs/common');
import core = require('@nestjs/core');
import library = require('nest-job-queue');
import { runWorkers } from 'nest-job-queue/workers';

@library.JobHandler('greet-require')
class GreetHandler {
  handle({ payload }: library.Job<string>) {
    return { greeting: `Hello ${payload}`, pid: process.pid };
  }
}

@common.Module({ imports: [library.JobQueueModule.forRoot()], providers: [GreetHandler] })
class AppModule {}

@common.Module({ imports: [library.JobQueueModule.forRoot({ worker: false })] })
class CallerModule {}

async function main() {
  const workers = await runWorkers(AppModule, { processes: 2, ownsProcess: false, logger: ['error'] });
  const app = await core.NestFactory.createApplicationContext(CallerModule, { logger: ['error'] });
  const jobs = app.get(library.JobQueueService);
  const job = await jobs.enqueue<{ greeting: string; pid: number }>('greet-require', 'Ada');
  const { greeting, pid } = await job.result({ timeoutMs: 60_000 });
  assert.equal(greeting, 'Hello Ada');
  assert.ok(workers.status().some((each) => each.pid === pid));
  await app.close();
  assert.equal((await workers.stop()).exitCode, 0);
  console.log('require: a job was done in a worker process');
}
// Otherwise a promise that stays pending would end the process with 0.
process.exitCode = 1;
void main().then(() => (process.exitCode = 0));
