// An app of the tests, run in worker processes. Its handler waits until its claim ends.
import { Module } from '@nestjs/common';
import { type Job, JobHandler, JobQueueModule } from 'nest-job-queue';
import { runWorkers } from 'nest-job-queue/workers';

@JobHandler(process.env.TEST_QUEUE!, { maxCrashes: 1_000, maxAttempts: 1_000 })
class Handler {
  async handle({ signal }: Job) {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  }
}

@Module({ imports: [JobQueueModule.forRoot({ shutdownTimeoutMs: 10 })], providers: [Handler] })
class AppModule {}

await runWorkers(AppModule);
