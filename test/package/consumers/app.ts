// The app of each consumer project of scripts/test-consumers.mjs: a handler, a handler in a thread, and a health check.
import 'reflect-metadata';
import { resolve } from 'node:path';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TerminusModule } from '@nestjs/terminus';
import { InvalidOptionError, JobHandler, JobQueueModule, JobQueueService, type Job } from 'nest-job-queue';
import { JobQueueHealthIndicator } from 'nest-job-queue/health';

const name = process.env.CONSUMER ?? '';
/** The names of the jobs. Each project has its own, because all share one Redis. */
export const jobs = { double: `double-${name}`, square: `square-${name}` };
/** The folder of the compiled or bundled files. */
const built = process.env.CONSUMER_BUILT ?? 'dist';
/** True in a bundle that holds nest-job-queue. A thread begins with a file of the package, and a bundle has none. */
export const threadsAreRefused = process.env.CONSUMER_THREADS === 'refused';

@JobHandler(jobs.double)
export class DoubleHandler {
  handle(job: Job<number>): { value: number; pid: number } {
    return { value: job.payload * 2, pid: process.pid };
  }
}

// An absolute path serves ES modules, CommonJS and bundles alike.
@JobHandler(jobs.square, { thread: resolve(built, 'square.worker.js') })
export class SquareHandler {}

@Module({
  imports: [JobQueueModule.forRoot(), TerminusModule],
  providers: [DoubleHandler, JobQueueHealthIndicator, ...(threadsAreRefused ? [] : [SquareHandler])],
})
export class AppModule {}

@Module({ imports: [JobQueueModule.forRoot()], providers: [SquareHandler] })
class ThreadModule {}

/** Runs a job on Redis, one in a thread, and the health check. */
export async function runApp(): Promise<{ doubled: number; squared: number; health: string }> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  try {
    const service = app.get(JobQueueService);
    const double = await service.enqueue<{ value: number }>(jobs.double, 21);
    const doubled = (await double.result({ timeoutMs: 30_000 })).value;
    const squared = threadsAreRefused ? await refusedThread() : await squareOf(service, 6);
    const { jobQueue } = await app.get(JobQueueHealthIndicator).check('jobQueue', { requireWorker: true });
    return { doubled, squared, health: jobQueue.status };
  } finally {
    await app.close();
  }
}

async function squareOf(service: JobQueueService, payload: number): Promise<number> {
  const job = await service.enqueue<{ value: number; inThread: boolean }>(jobs.square, payload);
  const { value, inThread } = await job.result({ timeoutMs: 30_000 });
  if (!inThread) throw new Error('expected a thread, found the main thread');
  return value;
}

/** Boots a handler with a thread, and returns what the thread would have, once the error names the remedy. */
async function refusedThread(): Promise<number> {
  const boot = NestFactory.createApplicationContext(ThreadModule, { logger: false, abortOnError: false });
  const error = await boot.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof InvalidOptionError) || !error.message.includes('as external')) throw error;
  return 36;
}
