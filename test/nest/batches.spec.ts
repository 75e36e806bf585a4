// Batches through the service: where they live, and what is refused.
import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineJob, InvalidOptionError, JobHandler, JobQueueService, type Job } from 'nest-job-queue';
import { uniqueQueueName } from '../support/redis/redis.js';
import { startApp } from './app.js';

const PAGE = uniqueQueueName('page');
const BOOK = uniqueQueueName('book');
const ALERT = uniqueQueueName('alert');
const Page = defineJob(PAGE, { payload: z.object({ page: z.number() }), result: z.string() });

@JobHandler(Page)
class PageHandler {
  handle(job: Job<{ page: number }>) {
    if (job.payload.page === 0) throw new Error('no such page');
    return `page ${job.payload.page}`;
  }
}

@JobHandler(BOOK)
class BookHandler {
  async handle(job: Job) {
    return (await job.batch!.results<string>()).members.map(({ result }) => result);
  }
}

@JobHandler(ALERT, { queue: BOOK })
class AlertHandler {
  async handle(job: Job) {
    return (await job.batch!.status()).failed;
  }
}

async function service(): Promise<JobQueueService> {
  const app = await startApp({ providers: [PageHandler, BookHandler, AlertHandler] });
  return app.get(JobQueueService);
}

it('lives in the queue of its follow-up, and takes jobs of other queues by name and by definition', async () => {
  const jobs = await service();
  const batch = jobs.batch({ then: { name: BOOK }, onFailure: { name: ALERT } });
  expect(batch.queue).toBe(BOOK);
  const one = await batch.add(Page, { page: 1 });
  await batch.addMany(PAGE, [{ payload: { page: 2 } }, { payload: { page: 3 } }]);
  await batch.seal();
  expect(await one.result()).toBe('page 1');
  await jobs.findBatch(BOOK, batch.id).wait({ timeoutMs: 20_000 });
  expect(await jobs.result(BOOK, `@batch:${batch.id}:then`)).toEqual(['page 1', 'page 2', 'page 3']);
}, 40_000);

it('runs the follow-up of a failure, in the queue that several names share', async () => {
  const jobs = await service();
  const batch = jobs.batch({ onFailure: { name: ALERT } });
  expect(batch.queue).toBe(BOOK);
  await batch.add(PAGE, { page: 0 }, { maxAttempts: 1 });
  await batch.seal();
  await batch.wait({ timeoutMs: 20_000 });
  expect(await jobs.result(ALERT, `@batch:${batch.id}:on_failure`)).toBe(1);
}, 40_000);

it('refuses follow-ups of several queues, and a batch without a place', async () => {
  const jobs = await service();
  expect(() => jobs.batch({ then: { name: BOOK }, finally: { name: PAGE } })).toThrow(
    /batch\.finally: expected a job of/,
  );
  expect(() => jobs.batch({})).toThrow(InvalidOptionError);
  expect(jobs.batch({ queue: PAGE }).queue).toBe(PAGE);
  expect(jobs.batch({ queue: PAGE, then: { name: 'x' }, finally: { name: BOOK } }).queue).toBe(PAGE);
  await expect(jobs.batch({ queue: PAGE }).add(Page, { page: 'x' } as never)).rejects.toThrow('page');
});

it.each<[unknown, string]>([
  ['book', 'batch.then: expected an object with the `name` of a job, found "book".'],
  [{ nam: 'book' }, 'batch.then.nam: expected a known option, found "nam". Did you mean name?'],
])('refuses %j as a follow-up, and says why', async (then, message) => {
  const jobs = await service();
  expect(() => jobs.batch({ then } as never)).toThrow(message);
});

it('a purge without its options is told what they are', async () => {
  const jobs = await service();
  await expect(jobs.queue(BOOK).purge(undefined as never)).rejects.toThrow(
    'purge: expected { confirm: the name of the queue }, found undefined.',
  );
});
