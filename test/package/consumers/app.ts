// The app of each consumer project of scripts/test-consumers.mjs.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobHandler, JobQueueModule, JobQueueService, type Job } from 'nest-job-queue';

@JobHandler(`double-${process.env.CONSUMER}`)
export class DoubleHandler {
  handle(job: Job<number>): number {
    return job.payload * 2;
  }
}

@Module({ imports: [JobQueueModule.forRoot()], providers: [DoubleHandler] })
export class AppModule {}

/** Runs one job on Redis. */
export async function runOneJob(): Promise<number> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  try {
    const job = await app.get(JobQueueService).enqueue<number>(`double-${process.env.CONSUMER}`, 21);
    return await job.result({ timeoutMs: 30_000 });
  } finally {
    await app.close();
  }
}
