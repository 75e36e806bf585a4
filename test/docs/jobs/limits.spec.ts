// The example of docs/limits.md as written.
import { expect, it, jest } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobQueueService, type JobHandle, type SharedLimitState } from 'nest-job-queue';
import { eventually } from '../../support/faults/wait.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { loadExample } from '../example.js';

interface Example {
  AppModule: Type;
  Partner: Type<{ send(order: { id: string }): Promise<{ status: number; retryAfterMs: number }> }>;
  Orders: Type<{ place(id: string, lines: number): Promise<JobHandle | undefined> }>;
}

it('sends orders at the rate of the partner, rests after a 429, and refuses orders beyond maxPending', async () => {
  process.env.REDIS_URL = (await startOwnRedis()).url;
  const { AppModule, Partner, Orders } = await loadExample<Example>('limits.md', 'limits');
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  const jobs = app.get(JobQueueService);
  const orders = app.get(Orders);
  const send = jest.spyOn(app.get(Partner), 'send');
  await Promise.all([orders.place('small', 1), orders.place('large', 200)]);
  await eventually(() => send.mock.calls.length === 2);
  // 4 of a burst of 5 are spent: one more may start now.
  send.mockResolvedValueOnce({ status: 429, retryAfterMs: 3_600_000 });
  const limited = (await orders.place('limited', 1))!;
  await eventually(async () => (await limited.get())!.rateLimited === 1);
  expect(await limited.get()).toMatchObject({ status: 'pending', attempts: 0 });
  expect(send).toHaveBeenCalledTimes(3);
  await jobs.queue('order').limits.set({ maxPending: 2 });
  expect(await orders.place('next', 1)).toBeDefined();
  expect(await orders.place('too many', 1)).toBeUndefined();
  await app.close();
}, 40_000);

interface SharedExample {
  AppModule: Type;
  OpenAi: Type<{ answer(text: string): Promise<{ text: string; retryAfterMs: number }> }>;
  ModelAdmin: Type<{ replaceKey(): Promise<void>; holders(): Promise<Partial<SharedLimitState>> }>;
}

it('shares a limit between queues, which a 429 rests and a person pauses', async () => {
  process.env.REDIS_URL = (await startOwnRedis()).url;
  const { AppModule, OpenAi, ModelAdmin } = await loadExample<SharedExample>('limits.md', 'shared-limits');
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  const jobs = app.get(JobQueueService);
  expect(await (await jobs.enqueue('summary', { text: 'a' })).result()).toBe('about a');
  const answer = jest.spyOn(app.get(OpenAi), 'answer').mockResolvedValueOnce({ text: '', retryAfterMs: 3_600_000 });
  await jobs.enqueue('chat', { text: 'b' });
  await eventually(async () => (await jobs.limits('openai').get()).restsUntil !== undefined);
  const summary = await jobs.enqueue('summary', { text: 'c' });
  await eventually(async () => (await app.get(ModelAdmin).holders()).waiting!.includes('summary'));
  expect((await summary.get())!.status).toBe('pending');
  await jobs.limits('openai').clear();
  expect(await summary.result()).toBe('about c');
  await app.get(ModelAdmin).replaceKey();
  expect(await jobs.limits('openai').get()).toMatchObject({
    source: 'configuration',
    maxRunning: 20,
    pausedBy: 'ada',
    pausedUntil: expect.any(Date),
  });
  expect(answer.mock.calls.length).toBeGreaterThan(0);
  await app.close();
}, 40_000);

interface CostExample {
  AppModule: Type;
  Questions: Type<{ ask(prompt: string): Promise<JobHandle<string>> }>;
}

it('charges each question its tokens', async () => {
  process.env.REDIS_URL = (await startOwnRedis()).url;
  const { AppModule, Questions } = await loadExample<CostExample>('limits.md', 'limit-costs');
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  const jobs = app.get(JobQueueService);
  const questions = app.get(Questions);
  const [first, second] = [await questions.ask('x'.repeat(20_000)), await questions.ask('short')];
  expect(await first.result()).toHaveLength(20_000);
  expect(await second.result()).toBe('short');
  await questions.ask('y'.repeat(30_000)); // of 8,000 tokens, which wait for four seconds at least
  await eventually(async () => (await jobs.limits('tokens').get()).waiting.includes('ask'));
  await app.close();
}, 40_000);

interface KeyExample {
  AppModule: Type;
  Crm: Type<{ push(tenant: string): Promise<{ retryAfterMs: number }> }>;
  Tenants: Type<{ changed(tenant: string, id: string): Promise<void>; upgrade(tenant: string): Promise<void> }>;
}

it('gives each tenant a limit of its own, which a 429 rests in both queues', async () => {
  process.env.REDIS_URL = (await startOwnRedis()).url;
  const { AppModule, Crm, Tenants } = await loadExample<KeyExample>('limits.md', 'limit-keys');
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  const jobs = app.get(JobQueueService);
  const push = jest.spyOn(app.get(Crm), 'push').mockImplementation(async (tenant) => {
    return { retryAfterMs: tenant === 'acme' ? 3_600_000 : 0 };
  });
  const acme = jobs.limits('crm').key('acme');
  await jobs.enqueue('contact', { id: '1' }, { group: 'acme' });
  await eventually(async () => (await acme.get()).restsUntil !== undefined);
  await app.get(Tenants).changed('acme', '2');
  await app.get(Tenants).changed('bolt', '3');
  await eventually(() => push.mock.calls.filter(([tenant]) => tenant === 'bolt').length === 2);
  expect(push.mock.calls.filter(([tenant]) => tenant === 'acme')).toHaveLength(1);
  await app.get(Tenants).upgrade('acme');
  expect(await acme.get()).toMatchObject({ source: 'set', maxRunning: 10, rateLimit: [{ limit: 100, burst: 10 }] });
  await app.close();
}, 40_000);
