// Shared by the tests of docs/jobs.md, managing-jobs.md and events.md: a Redis, apps on it, and the pages' examples.
import { readFileSync } from 'node:fs';
import { beforeAll } from '@jest/globals';
import type { Provider, Type } from '@nestjs/common';
import { JobHandler, JobQueueService, type Job } from 'nest-job-queue';
import { startApp } from '../../nest/app.js';
import { startOwnRedis, type OwnRedis } from '../../support/redis/own-redis.js';
import { queueOn, type TestQueue } from '../../support/queue/queue-state.js';
import { connect } from '../../support/redis/redis.js';
import { loadExample } from '../example.js';

/** The pages whose examples are run here. */
export const PAGES = ['jobs.md', 'steps.md', 'managing-jobs.md', 'events.md'];

export function readPage(page: string): string {
  return readFileSync(new URL(`../../../docs/${page}`, import.meta.url), 'utf8');
}

let redis: OwnRedis;

beforeAll(async () => {
  redis = await startOwnRedis();
});

export function redisUrl(): string {
  return redis.url;
}

/** Returns the example's exports, with the types that the test gives. */
export async function example<Exports>(mark: string): Promise<Exports> {
  const page = PAGES.find((each) => readPage(each).includes(`<!-- example: ${mark} -->`));
  return loadExample<Exports>(page!, mark);
}

/** Returns the service of an app with these providers, which receives a cancel within 300 ms. */
export async function service(...providers: Provider[]): Promise<JobQueueService> {
  const app = await startApp({ jobs: { redis: redis.url, visibilityMs: 900, shutdownTimeoutMs: 500 }, providers });
  return app.get(JobQueueService);
}

export function handlerOf(name: string, handle: (job: Job<never>) => unknown): Type {
  @JobHandler(name, { maxAttempts: 1 })
  class Handler {
    handle(job: Job<never>) {
      return handle(job);
    }
  }
  return Handler;
}

/** Returns a handler that fails with the reason in its payload. */
export function failing(name: string): Type {
  return handlerOf(name, (job) => {
    throw new Error((job.payload as { reason: string }).reason);
  });
}

/** Returns the keys of a queue, to seed and to read. */
export function stateOf(queue: string): TestQueue {
  return queueOn(connect({}, redis.url), {}, queue);
}
