// The example of docs/batches.md as it stands there, and the tables of its options in docs/options.md.
import { expect, it } from '@jest/globals';
import type { DynamicModule, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobQueueService, type BatchOptions, type FollowUp } from 'nest-job-queue';
import { FOLLOW_UP_OPTIONS } from '#queue/batches/batch-options.js';
import type { JobBatchOptions } from '#nest/service/batch-home.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { loadExample } from '../example.js';
import { rowsOf } from '../table.js';

const named = (mark: string) =>
  rowsOf(mark, 'docs/options.md')
    .slice(2)
    .flatMap(([names]) => [...names!.matchAll(/`(\w+)`/g)].map(([, name]) => name!))
    .toSorted();

it('prints a book of all its pages', async () => {
  const redis = await startOwnRedis();
  process.env.REDIS_URL = redis.url;
  const { AppModule, Books } = (await loadExample('batches.md', 'book')) as {
    AppModule: Type | DynamicModule;
    Books: Type<{ print(title: string, pages: number): Promise<string> }>;
  };
  const app = await NestFactory.createApplicationContext(AppModule as Type, { logger: false });
  app.enableShutdownHooks([]);
  const jobs = app.get(JobQueueService);
  const id = await app.get(Books).print('Emma', 25);
  const record = await jobs.findBatch('book', id).wait({ timeoutMs: 20_000 });
  expect(record).toMatchObject({ total: 25, completed: 25, queue: 'book' });
  const files = Array.from({ length: 25 }, (_, i) => `page-${i + 1}.pdf`);
  expect(await jobs.result('book', `@batch:${id}:then`)).toEqual({ title: 'Emma', files });
  await app.close();
}, 40_000);

it('names every option of a batch and of a follow-up', () => {
  // The compiler refuses these where an option is missing.
  const batch: Record<keyof JobBatchOptions | keyof BatchOptions, true> = {
    id: true,
    then: true,
    onFailure: true,
    finally: true,
    failFast: true,
    resultTtlMs: true,
    queue: true,
  };
  const follow: Record<keyof FollowUp, true> = Object.fromEntries(
    FOLLOW_UP_OPTIONS.map((option) => [option, true]),
  ) as Record<keyof FollowUp, true>;
  expect(named('batch options')).toEqual(Object.keys(batch).toSorted());
  expect(named('follow-up options')).toEqual(Object.keys(follow).toSorted());
});
