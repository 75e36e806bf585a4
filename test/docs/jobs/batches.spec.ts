// The example of docs/batches.md as written, and the tables of its options in docs/options.md.
import { expect, it } from '@jest/globals';
import { Module, type DynamicModule, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  JobHandler,
  JobQueueModule,
  JobQueueService,
  type Batch,
  type BatchOptions,
  type FollowUp,
  type Job,
  type JobHandle,
} from 'nest-job-queue';
import { FOLLOW_UP_OPTIONS } from '#queue/batches/batch-options.js';
import type { JobBatchOptions } from '#spread/shard-choice.js';
import { eventually } from '../../support/faults/wait.js';
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

it('crawls each page once, and then writes the map', async () => {
  process.env.REDIS_URL = (await startOwnRedis()).url;
  const { AppModule, Crawler } = (await loadExample('batches.md', 'crawl')) as {
    AppModule: Type;
    Crawler: Type<{ crawl(site: string): Promise<Batch<string>> }>;
  };
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  const batch = await app.get(Crawler).crawl('example.com');
  expect(await batch.wait({ timeoutMs: 20_000 })).toMatchObject({ total: 4, completed: 4, queue: 'sitemap' });
  const map = await app.get(JobQueueService).result('sitemap', '@batch:example.com:then');
  expect(map).toEqual({ site: 'example.com', pages: 4 });
  await app.close();
}, 40_000);

@JobHandler('import', { maxAttempts: 1, concurrency: 1 })
class Importer {
  handle({ payload: { file } }: Job<{ file: string }>): string {
    if (file === 'bad.csv') throw new Error('bad.csv has no header');
    return file;
  }
}

const published: object[] = [];
class Media {
  @JobHandler('resize')
  resize({ payload }: Job<object>): void {
    published.push({ resize: payload });
  }

  @JobHandler('publish')
  publish({ payload }: Job<object>): void {
    published.push({ publish: payload });
  }
}

it('imports all or none, and publishes after the resize', async () => {
  process.env.REDIS_URL = (await startOwnRedis()).url;
  @Module({ imports: [JobQueueModule.forRoot()], providers: [Importer, Media] })
  class AppModule {}
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  const jobs = app.get(JobQueueService);
  const { importAll } = await loadExample<{
    importAll(service: JobQueueService, files: string[]): Promise<string[]>;
  }>('batches.md', 'fail-fast');
  expect(await importAll(jobs, ['a.csv', 'b.csv'])).toEqual([]);
  expect(await importAll(jobs, ['bad.csv', ...Array.from({ length: 600 }, (_, i) => `${i}.csv`)])).toEqual([
    'bad.csv has no header',
  ]);
  const { publish } = await loadExample<{
    publish(service: JobQueueService, file: string): Promise<JobHandle>;
  }>('batches.md', 'after');
  await (await publish(jobs, 'cat.png')).result({ timeoutMs: 10_000 });
  expect(published).toEqual([{ resize: { file: 'cat.png' } }, { publish: { file: 'cat.png' } }]);
  await app.close();
}, 40_000);

const done: string[] = [];
class Studio {
  @JobHandler('download')
  download(): void {
    done.push('download');
  }

  @JobHandler('convert')
  convert({ payload: { format = 'mp3' } }: Job<{ format?: string }>): string {
    done.push(format);
    return format;
  }

  @JobHandler('publish')
  async publish({ batch }: Job<object>): Promise<unknown[]> {
    done.push('publish');
    const members = batch ? await batch.results() : { members: [] };
    return members.members.map(({ result }) => result);
  }
}

it('runs the trees in their order', async () => {
  process.env.REDIS_URL = (await startOwnRedis()).url;
  @Module({ imports: [JobQueueModule.forRoot()], providers: [Studio] })
  class AppModule {}
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  const jobs = app.get(JobQueueService);
  const trees = await loadExample<{
    chain(service: JobQueueService, file: string): Promise<JobHandle>;
    oneThenSeveral(service: JobQueueService, file: string, formats: string[]): Promise<JobHandle[]>;
    fanOutThenOne(service: JobQueueService, file: string, formats: string[]): Promise<Batch<string>>;
  }>('batches.md', 'trees');
  await (await trees.chain(jobs, 'a')).result({ timeoutMs: 10_000 });
  expect(done.splice(0)).toEqual(['download', 'mp3', 'publish']);
  const converted = await trees.oneThenSeveral(jobs, 'b', ['mp3', 'wav']);
  expect(await Promise.all(converted.map((job) => job.result({ timeoutMs: 10_000 })))).toEqual(['mp3', 'wav']);
  expect(done.splice(0)[0]).toBe('download');
  const batch = await trees.fanOutThenOne(jobs, 'c', ['mp3', 'wav']);
  await batch.wait({ timeoutMs: 10_000 });
  expect(await jobs.result('publish', `@batch:${batch.id}:then`, { timeoutMs: 10_000 })).toEqual(['mp3', 'wav']);
  expect([done[0], done.at(-1)]).toEqual(['download', 'publish']);
  await app.close();
}, 40_000);

const sent: unknown[] = [];
class Films {
  @JobHandler('convert-part', { maxAttempts: 1 })
  part({ payload: { film, part } }: Job<{ film: string; part: number }>): string {
    if (part === 0) throw new Error('part 0 is broken');
    return `${film}-${part}`;
  }

  @JobHandler('publish')
  async publish({ batch }: Job): Promise<unknown> {
    return sent.push(['publish', (await batch!.results()).members.map(({ result }) => result)]);
  }

  @JobHandler('mail')
  mail({ payload }: Job): void {
    sent.push(['mail', payload]);
  }

  @JobHandler('delete-upload', { queue: 'storage' })
  clean({ payload }: Job): void {
    sent.push(['delete-upload', payload]);
  }
}

async function whenEnded(batch: Batch<string>): Promise<void> {
  await eventually(async () => (await batch.status()).state === 'ended', { timeoutMs: 20_000 });
}

it('sends the follow-ups of a film to their queues, each once', async () => {
  process.env.REDIS_URL = (await startOwnRedis()).url;
  @Module({ imports: [JobQueueModule.forRoot({ maintenance: { everyMs: 200 } })], providers: [Films] })
  class AppModule {}
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  const jobs = app.get(JobQueueService);
  const { convert } = await loadExample<{
    convert(service: JobQueueService, film: string, parts: number[]): Promise<Batch<string>>;
  }>('batches.md', 'several queues');
  await whenEnded(await convert(jobs, 'a', [1, 2]));
  expect(sent.splice(0)).toEqual(
    expect.arrayContaining([
      ['publish', ['a-1', 'a-2']],
      ['delete-upload', { film: 'a' }],
    ]),
  );
  await whenEnded(await convert(jobs, 'b', [1, 0]));
  expect(sent).toHaveLength(2);
  expect(sent).toEqual(
    expect.arrayContaining([
      ['mail', { film: 'b' }],
      ['delete-upload', { film: 'b' }],
    ]),
  );
  await app.close();
}, 60_000);

it('names every option of a batch and of a follow-up', () => {
  // The compiler refuses these where an option is missing.
  const batch: Record<keyof JobBatchOptions | keyof BatchOptions, true> = {
    id: true,
    then: true,
    onFailure: true,
    finally: true,
    failFast: true,
    resultTtlMs: true,
    recordTtlMs: true,
    queue: true,
  };
  const follow: Record<keyof FollowUp, true> = Object.fromEntries(
    FOLLOW_UP_OPTIONS.map((option) => [option, true]),
  ) as Record<keyof FollowUp, true>;
  expect(named('batch options')).toEqual(Object.keys(batch).toSorted());
  expect(named('follow-up options')).toEqual(Object.keys(follow).toSorted());
});
