// The example of docs/topics.md in the testing module.
import { afterEach, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { JobQueueService } from 'nest-job-queue';
import { JobQueueTesting, JobQueueTestingModule } from 'nest-job-queue/testing';
import { loadExample } from '../example.js';

interface Page {
  Orders: Type<{ paid(orderId: string, amount: number): Promise<{ id: string }> }>;
  Receipts: Type<{ sent: string[] }>;
  Accounts: Type<{ total: number }>;
  ShopModule: Type;
}

const page = await loadExample<Page>('topics.md', 'topics');
let module: TestingModule;
afterEach(() => module?.close());

it('docs/topics.md: each subscription gets the publication once, also if it is published twice', async () => {
  module = await Test.createTestingModule({
    imports: [JobQueueTestingModule.forTest(), page.ShopModule],
  }).compile();
  await module.init();
  const testing = module.get(JobQueueTesting);
  await module.get(page.Orders).paid('17', 20);
  await module.get(page.Orders).paid('17', 20);
  await testing.drain();
  expect(module.get(page.Receipts).sent).toEqual(['17']);
  expect(module.get(page.Accounts).total).toBe(20);
  expect(testing.errors).toEqual([]);
  const listed = await module.get(JobQueueService).topics.list('order.paid');
  expect(listed.map(({ name, queue }) => [name, queue])).toEqual([
    ['accounts', 'order.paid/accounts'],
    ['receipts', 'order.paid/receipts'],
  ]);
});
