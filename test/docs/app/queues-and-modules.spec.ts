// The examples of docs/queues-and-modules.md and docs/encryption.md, as written.
import { randomBytes } from 'node:crypto';
import { Module, type Type } from '@nestjs/common';
import { ConfigModule } from '@nestjs/config';
import { expect, it } from '@jest/globals';
import * as promClient from 'prom-client';
import { JobQueueHealthIndicator } from 'nest-job-queue/health';
import {
  getQueueToken,
  JobHandler,
  JobQueue,
  JobQueueModule,
  JobQueueService,
  type Job,
  type JobCodec,
  type JobQueueModuleOptions,
  type QueueOptions,
} from 'nest-job-queue';
import { LinkGuard } from 'nest-job-queue/dashboard';
import { startApp } from '../../nest/app.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, testRedisUrl, uniqueQueueName } from '../../support/redis/redis.js';
import { loadExample } from '../example.js';

it('a queue is injected, and a test replaces it', async () => {
  const { Uploads } = (await loadExample('queues-and-modules.md', 'uploads')) as {
    Uploads: Type<{ add(key: string): Promise<string> }>;
  };
  const { withFakeVideos } = (await loadExample('queues-and-modules.md', 'override')) as {
    withFakeVideos(
      module: Type,
    ): Promise<{ moduleRef: { get<T>(type: Type<T>): T; close(): Promise<void> }; enqueued: unknown[] }>;
  };
  @Module({ imports: [JobQueueModule.forRoot({ redis: testRedisUrl() })], providers: [Uploads] })
  class AppModule {}
  const { moduleRef, enqueued } = await withFakeVideos(AppModule);
  expect(await moduleRef.get(Uploads).add('cat.mp4')).toBe('1');
  expect(enqueued).toEqual([{ key: 'cat.mp4' }]);
  await moduleRef.close();
});

it('an app on two servers', async () => {
  const [main, billing] = [await startOwnRedis(), await startOwnRedis()];
  process.env.REDIS_URL = main.url;
  process.env.BILLING_REDIS_URL = billing.url;
  const { AppModule, Billing } = (await loadExample('queues-and-modules.md', 'servers')) as {
    AppModule: Type;
    Billing: Type<{ invoices: JobQueue; jobs: JobQueueService }>;
  };
  const app = await startApp({ module: AppModule });
  const { invoices, jobs } = app.get(Billing, { strict: false });
  const job = await invoices.enqueue({ amount: 3 });
  expect(await job.result()).toBe('3 paid');
  expect(await jobs.get('invoice', job.id)).toMatchObject({ status: 'completed' });
  expect(await app.get(JobQueueService).get('invoice', job.id)).toBeNull();
});

it('each server is watched: health, dashboard and metrics', async () => {
  const [main, billing] = [await startOwnRedis(), await startOwnRedis()];
  process.env.REDIS_URL = main.url;
  process.env.BILLING_REDIS_URL = billing.url;
  const { WatchedModule } = (await loadExample('queues-and-modules.md', 'watch')) as { WatchedModule: Type };
  const app = await startApp({ module: WatchedModule });
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const token = new URL(LinkGuard.linkTo(url)).searchParams.get('token');
  const headers = { authorization: `Bearer ${token}` };
  const read = async (path: string) =>
    (await fetch(`${url}/${path}`, { headers })).json() as Promise<Record<string, unknown>>;
  await app.get<JobQueue>(getQueueToken('invoice', 'billing')).enqueue({ amount: 3 });
  const { details } = await read('health');
  expect(details).toMatchObject({
    jobs: { status: 'up', queues: { email: { pending: 0 } } },
    billing: { status: 'up', queues: { invoice: { pending: 1 } } },
  });
  expect(await read('queues/api/overview')).toMatchObject({
    overview: { queues: [{ name: 'email', depths: { pending: 0 } }] },
  });
  expect(await read('billing-queues/api/overview')).toMatchObject({
    overview: { queues: [{ name: 'invoice', depths: { pending: 1 } }] },
  });
  const scraped = await promClient.register.metrics();
  expect(scraped).toContain('job_queue_depth{queue="email",state="pending"} 0');
  expect(scraped).toContain('job_queue_depth{queue="invoice",state="pending"} 1');
  await expect(app.get(JobQueueHealthIndicator).check('x', { connection: 'nobody' })).rejects.toThrow(
    'health check: connection: expected the name of a JobQueueModule.forRoot, found "nobody".',
  );
});

it('options of handlers come from ConfigService', async () => {
  const { EmailOptions, EmailHandler, SmsHandler } = (await loadExample(
    'queues-and-modules.md',
    'options',
  )) as Record<string, Type>;
  const redis = await startOwnRedis();
  const config = { EMAIL_CONCURRENCY: 7, SMS_PER_SECOND: 3 };
  const lines: string[] = [];
  const app = await startApp({
    jobs: { redis: redis.url },
    imports: [ConfigModule.forRoot({ ignoreEnvFile: true, isGlobal: true, load: [() => config] })],
    providers: [EmailOptions!, EmailHandler!, SmsHandler!],
    log: { log: (line: string) => lines.push(line), warn: () => undefined, error: () => undefined },
  });
  expect(lines).toContainEqual(expect.stringContaining('serves email ×7, sms ×10'));
  expect(app.get(JobQueueService).queue('sms').options.rateLimit).toMatchObject({ limit: 3 });
});

it('keys of the environment encrypt, and an older one decrypts', async () => {
  const { encryption } = (await loadExample('encryption.md', 'encrypted')) as {
    encryption(keys: string): QueueOptions;
  };
  const [june, july] = ['2030-06', '2030-07'].map((id) => `${id}:${randomBytes(32).toString('base64')}`);
  const client = connect();
  const name = uniqueQueueName();
  const job = await new JobQueue(client, name, encryption(june!)).enqueue({ to: 'ada' });
  expect(await client.hget(`queue:${name}:job:${job.id}`, 'payload')).not.toContain('ada');
  const claimed = await new JobQueue(client, name, encryption(`${july},${june}`)).claim();
  expect(claimed!.payload).toEqual({ to: 'ada' });
});

it('fields are not shown where the queue says so', async () => {
  const { payments } = (await loadExample('encryption.md', 'redact')) as {
    payments(key: string): JobQueueModuleOptions;
  };
  const redis = await startOwnRedis();
  const lines: string[] = [];
  const keep = (line: unknown) => void lines.push(String(line));
  @JobHandler('payment', { maxAttempts: 1 })
  class Handler {
    handle({ payload }: Job<{ iban: string }>) {
      throw new Error(`no account ${payload.iban}`);
    }
  }
  const jobs = { ...payments(randomBytes(32).toString('base64')), redis: redis.url };
  const app = await startApp({ jobs, providers: [Handler], log: { log: keep, warn: keep, error: keep } });
  const job = await app.get(JobQueueService).enqueue('payment', { iban: 'DE02-1203' });
  await expect(job.result()).rejects.toMatchObject({ reason: 'no account DE02-1203' });
  await app.get(JobQueueService).drain();
  expect(lines.join('\n')).toContain('no account [redacted]');
  expect(lines.join('\n')).not.toContain('DE02');
});

it.each([
  ['superjson', 'richJson'],
  ['devalue', 'cyclicJson'],
])('the codec of %s', async (mark, exported) => {
  const codec = (await loadExample('encryption.md', mark))[exported] as JobCodec;
  const queue = new JobQueue(connect(), uniqueQueueName(), { codec });
  const payload = { at: new Date(0), all: new Map([['a', 1n]]) };
  await queue.enqueue(payload);
  expect((await queue.claim())!.payload).toEqual(payload);
});
