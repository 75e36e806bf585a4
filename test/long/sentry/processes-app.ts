// An app in worker processes, with a real SDK of Sentry. Its transport adds what it sends to a list of Redis.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Module } from '@nestjs/common';
import { Redis } from 'ioredis';
import { type Job, JobHandler, JobQueueModule } from 'nest-job-queue';
import { type SentrySdk, sentryJobs } from 'nest-job-queue/sentry';
import { runWorkers } from 'nest-job-queue/workers';

interface RealSdk extends SentrySdk {
  init(options: object): void;
  createTransport(options: object, send: (request: { body: string | Uint8Array }) => Promise<object>): object;
  setTag(name: string, value: string): void;
}

const { SENTRY_FOLDER, REDIS_URL } = process.env as { SENTRY_FOLDER: string; REDIS_URL: string };
const Sentry = createRequire(join(SENTRY_FOLDER, 'package.json'))('@sentry/node') as RealSdk;
const redis = new Redis(REDIS_URL);
Sentry.init({
  dsn: 'https://public@sentry.invalid/1',
  transport: (options: object) =>
    Sentry.createTransport(options, async ({ body }) => {
      await redis.rpush('sent', typeof body === 'string' ? body : new TextDecoder().decode(body));
      return { statusCode: 200 };
    }),
});

@JobHandler('plain', { maxAttempts: 1 })
class PlainHandler {
  handle({ id }: Job) {
    Sentry.setTag('tenant', id);
    throw new Error('in a process');
  }
}

@JobHandler('thread', { maxAttempts: 1, thread: new URL('thread.mjs', import.meta.url) })
class ThreadHandler {}

@Module({
  imports: [JobQueueModule.forRoot({ middleware: [sentryJobs(Sentry)] })],
  providers: [PlainHandler, ThreadHandler],
})
class AppModule {}

await runWorkers(AppModule, { processes: 1 });
