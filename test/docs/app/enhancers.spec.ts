// The examples of docs/enhancers.md and docs/scopes.md, as written.
import { expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { ContextIdFactory } from '@nestjs/core';
import { JobQueueService } from 'nest-job-queue';
import { startApp } from '../../nest/app.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { runExample } from './child.js';
import { exampleOf, loadExample } from '../example.js';
import { writeExample } from './files.js';

it('the e-mail handler with its guard, pipe, interceptor and filter', async () => {
  const { EmailHandler, TimingInterceptor } = (await loadExample('enhancers.md', 'email')) as Record<string, Type>;
  const redis = await startOwnRedis();
  const app = await startApp({ jobs: { redis: redis.url }, providers: [EmailHandler!, TimingInterceptor!] });
  const jobs = app.get(JobQueueService);
  const metadata = { tenant: 'acme' };
  const sent = await jobs.enqueue('email', { to: 'ada@example.com' }, { metadata });
  expect(await sent.result()).toEqual({ sentTo: 'ada@example.com', attempt: 1 });
  const denied = await jobs.enqueue('email', { to: 'ada@example.com' });
  await expect(denied.result()).rejects.toMatchObject({ attempts: 1, errorName: 'ForbiddenException' });
  const bad = await jobs.enqueue('email', { to: 'ada' }, { metadata });
  await expect(bad.result()).rejects.toMatchObject({ attempts: 1, errorName: 'BadRequestException' });
});

it('the guard of a bulk handler', async () => {
  const { IndexHandler } = (await loadExample('enhancers.md', 'bulk')) as Record<string, Type>;
  const redis = await startOwnRedis();
  const app = await startApp({ jobs: { redis: redis.url }, providers: [IndexHandler!] });
  const jobs = app.get(JobQueueService);
  const [known, unknown] = await jobs.enqueueMany('index', [
    { payload: { text: 'four' }, metadata: { tenant: 'acme' } },
    { payload: { text: 'four' } },
  ]);
  expect(await known!.result()).toBe(4);
  await expect(unknown!.result()).rejects.toMatchObject({ attempts: 1, errorName: 'ForbiddenException' });
});

it('the REQUEST-scoped tenant of a job', async () => {
  const { InvoiceHandler, Tenant } = (await loadExample('scopes.md', 'tenant')) as Record<string, Type>;
  const redis = await startOwnRedis();
  const app = await startApp({ jobs: { redis: redis.url }, providers: [InvoiceHandler!, Tenant!] });
  const job = await app.get(JobQueueService).enqueue('invoice', { amount: 3 }, { metadata: { tenant: 'acme' } });
  expect(await job.result()).toBe('acme pays 3');
});

it('the strategy of durable providers takes jobs and requests', async () => {
  const { TenantStrategy } = (await loadExample('scopes.md', 'durable')) as Record<
    string,
    new () => Parameters<typeof ContextIdFactory.apply>[0]
  >;
  const strategy = new TenantStrategy!();
  const contextId = ContextIdFactory.create();
  const resolverOf = (request: object) => {
    const found = strategy.attach(contextId, request);
    if (typeof found === 'function' || !found) throw new Error('expected a tenant');
    return found.resolve({ token: 'any', isTreeDurable: true });
  };
  const ofJob = resolverOf({ metadata: { tenant: 'acme' } });
  expect(ofJob).not.toBe(contextId);
  expect(resolverOf({ headers: { 'x-tenant': 'acme' } })).toBe(ofJob);
});

const CLS_APP = `
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClsModule, ClsService } from 'nestjs-cls';
import { JobHandler, JobQueueModule, JobQueueService } from 'nest-job-queue';
import { ClsOfJobs } from './cls.js';

@JobHandler('greet')
class Handler {
  constructor(private readonly cls: ClsService) {}

  async handle() {
    await new Promise((resolve) => setImmediate(resolve));
    return this.cls.get('tenant');
  }
}

@Module({
  imports: [ClsModule.forRoot({ global: true }), JobQueueModule.forRoot({ middleware: [ClsOfJobs] })],
  providers: [Handler],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
const jobs = await app.get(JobQueueService).enqueueMany(
  'greet',
  ['acme', 'globex', 'initech'].map((tenant) => ({ payload: {}, metadata: { tenant } })),
);
const tenants = await Promise.all(jobs.map((job) => job.result()));
await app.close();
console.log(JSON.stringify(tenants));
`;

it('nestjs-cls by a middleware', async () => {
  const redis = await startOwnRedis();
  const folder = writeExample({ 'cls.ts': exampleOf('scopes.md', 'cls'), 'main.ts': CLS_APP });
  expect(await runExample(folder, 'main.ts', { REDIS_URL: redis.url })).toEqual(['acme', 'globex', 'initech']);
}, 60_000);
