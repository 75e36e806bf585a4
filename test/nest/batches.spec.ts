// Batches through the service: where they live, and what is refused.
import { expect, it } from '@jest/globals';
import { z } from 'zod';
import {
  defineJob,
  InvalidOptionError,
  InvalidPayloadError,
  JobHandler,
  JobQueueService,
  type Job,
} from 'nest-job-queue';
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

it('a batch lives in the queue of its follow-up, and takes jobs of other queues by name and by definition', async () => {
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

it('a batch runs the follow-up of a failure, in the queue that several names share', async () => {
  const jobs = await service();
  const batch = jobs.batch({ onFailure: { name: ALERT } });
  expect(batch.queue).toBe(BOOK);
  await batch.add(PAGE, { page: 0 }, { maxAttempts: 1 });
  await batch.seal();
  await batch.wait({ timeoutMs: 20_000 });
  expect(await jobs.result(ALERT, `@batch:${batch.id}:on_failure`)).toBe(1);
}, 40_000);

it('a batch takes a follow-up by its definition: its queue, its name, its defaults', async () => {
  const jobs = await service();
  const Alert = defineJob(ALERT, { payload: z.object({ batchId: z.string() }), queue: BOOK, maxAttempts: 4 });
  const batch = jobs.batch({ onFailure: { definition: Alert, timeoutMs: 9_000 }, then: { name: BOOK } });
  expect(batch.queue).toBe(BOOK);
  await batch.add(PAGE, { page: 0 }, { maxAttempts: 1 });
  await batch.seal();
  await batch.wait({ timeoutMs: 20_000 });
  const id = `@batch:${batch.id}:on_failure`;
  expect(await jobs.result(Alert, id)).toBe(1);
  expect(await jobs.get(Alert, id)).toMatchObject({ name: ALERT, maxAttempts: 4, payload: { batchId: batch.id } });
}, 40_000);

it('a batch checks a payload by an asynchronous schema before anything is written', async () => {
  const jobs = await service();
  const Slow = defineJob(BOOK, {
    payload: z.object({ title: z.string() }).refine(async ({ title }) => title !== ''),
  });
  const batch = jobs.batch({ then: { definition: Slow, payload: { title: '' } } });
  await expect(batch.seal()).rejects.toThrow(InvalidPayloadError);
  expect(await jobs.queue(BOOK).listBatches()).not.toContainEqual(expect.objectContaining({ id: batch.id }));
  const sound = jobs.batch({ then: { definition: Slow, payload: { title: 'Moby Dick' } } });
  await sound.seal();
  await sound.wait({ timeoutMs: 20_000 });
  expect(await jobs.get(BOOK, `@batch:${sound.id}:then`)).toMatchObject({ payload: { title: 'Moby Dick' } });
}, 40_000);

it('a batch takes follow-ups of several queues, each checked by its own schema', async () => {
  const jobs = await service();
  const Invoice = defineJob(PAGE, { payload: z.object({ page: z.number() }) });
  const then = { definition: Invoice, payload: { page: 5 } };
  const batch = jobs.batch({ then: { name: BOOK }, finally: then });
  expect(batch.queue).toBe(BOOK);
  await batch.seal();
  expect(await jobs.result(PAGE, `@batch-of:${BOOK} ${batch.id}:finally`)).toBe('page 5');
  const other = jobs.batch({ queue: PAGE, then: { name: ALERT }, finally: { name: BOOK, queue: 'elsewhere' } });
  expect(other.queue).toBe(PAGE);
  await other.seal();
  expect((await other.status()).followUps.map(({ queue }) => queue)).toEqual([BOOK, 'elsewhere']);
  expect(() => jobs.batch({ then: { definition: Invoice, payload: { page: 'x' } as never }, queue: BOOK })).toThrow(
    InvalidPayloadError,
  );
});

it('the service refuses a batch without a place', async () => {
  const jobs = await service();
  expect(() => jobs.batch({})).toThrow(InvalidOptionError);
  expect(jobs.batch({ queue: PAGE }).queue).toBe(PAGE);
  expect(jobs.batch({ queue: PAGE, then: { name: 'x' }, finally: { name: BOOK } }).queue).toBe(PAGE);
  await expect(jobs.batch({ queue: PAGE }).add(Page, { page: 'x' } as never)).rejects.toThrow('page');
});

it.each<[unknown, string]>([
  ['book', 'batch.then: expected an object with the `name` or the `definition` of a job, found "book".'],
  [{ definition: 'book' }, 'batch.then.definition: expected a definition of defineJob, found "book".'],
  [
    { definition: Page, payload: { page: 1 }, name: 'book' },
    `batch.then.name: expected that of the definition, "${PAGE}", found "book".`,
  ],
  [{ definition: Page, payload: { page: 'x' } }, 'batch.then.payload.page: expected number'],
  [{ definition: Page }, 'batch.then.payload.page: expected number'],
  [{ nam: 'book' }, 'batch.then.nam: expected a known option, found "nam". Did you mean name?'],
])('refuses a bad follow-up, case %#, and says why', async (then, message) => {
  const jobs = await service();
  expect(() => jobs.batch({ then } as never)).toThrow(message);
});

it('a purge without its options names them in its error', async () => {
  const jobs = await service();
  await expect(jobs.queue(BOOK).purge(undefined as never)).rejects.toThrow(
    'purge: expected { confirm: the name of the queue }, found undefined.',
  );
});
