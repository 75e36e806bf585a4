// The example of docs/signals.md in the testing module. The test sends the signals, and moves the clock past the time limits.
import { afterEach, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { JobHandler, JobQueueService, JobWaitsError, type Job, type JobDefinition } from 'nest-job-queue';
import { JobQueueTesting, JobQueueTestingModule, runHandler } from 'nest-job-queue/testing';
import { loadExample } from '../example.js';

interface Page {
  Order: JobDefinition;
  Mailer: Type;
  OrderHandler: Type<{ bought: string[] }>;
  approve(jobs: JobQueueService, id: string, by: string): Promise<string>;
}

const PAYLOAD = { item: 'a desk', boss: 'boss@example.com' };
const page = await loadExample<Page>('signals.md', 'signals');
let module: TestingModule;
afterEach(() => module?.close());

async function start(...handlers: Type[]) {
  const asked: string[] = [];
  const mailer = { provide: page.Mailer, useValue: { ask: (boss: string) => void asked.push(boss) } };
  module = await Test.createTestingModule({
    imports: [JobQueueTestingModule.forTest()],
    providers: [...handlers, mailer],
  }).compile();
  await module.init();
  return { asked, testing: module.get(JobQueueTesting), jobs: module.get(JobQueueService) };
}

it('the order waits for the approval, and drain stops there', async () => {
  const { asked, testing, jobs } = await start(page.OrderHandler);
  const order = await jobs.enqueue(page.Order, PAYLOAD);
  const begun = testing.now;
  expect(await testing.drain()).toMatchObject({ completed: 0 });
  expect((await order.get())!.status).toBe('scheduled');
  expect(await page.approve(jobs, order.id, 'ada')).toBe('delivered');
  await testing.drain();
  expect(await order.result()).toBe('approved by ada');
  expect([module.get(page.OrderHandler).bought, asked]).toEqual([['a desk'], ['boss@example.com']]);
  expect(testing.now.getTime() - begun.getTime()).toBeLessThan(60_000);
  expect(testing.errors).toEqual([]);
});

it('nobody answers: the clock of the test ends the wait', async () => {
  const { testing, jobs } = await start(page.OrderHandler);
  const order = await jobs.enqueue(page.Order, PAYLOAD);
  await testing.drain();
  await testing.advance(86_400_000 - 60_000);
  expect((await order.get())!.status).toBe('scheduled');
  await testing.advance(60_000);
  await testing.drain();
  expect(await order.result()).toBe('nobody answered within a day');
  await expect(page.approve(jobs, order.id, 'ada')).rejects.toThrow('has completed');
});

it('runHandler gives signals to the job, and throws where one is missing', async () => {
  const providers = [{ provide: page.Mailer, useValue: { ask() {} } }];
  const signals = { approved: { by: 'ada' } };
  expect(await runHandler(page.OrderHandler, PAYLOAD, { providers, signals })).toBe('approved by ada');
  await expect(runHandler(page.OrderHandler, PAYLOAD, { providers })).rejects.toBeInstanceOf(JobWaitsError);
});

it('drain goes on behind a sleep', async () => {
  @JobHandler('sleeper')
  class Sleeper {
    async handle(job: Job) {
      await job.sleep(7 * 86_400_000);
      return 'a week later';
    }
  }
  const { testing, jobs } = await start(Sleeper);
  const job = await jobs.enqueue('sleeper', {});
  await testing.drain();
  expect(await job.result()).toBe('a week later');
});
