// Every example of docs/jobs.md, as it stands there.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { DynamicModule, Provider, Type } from '@nestjs/common';
import { JobHandler, JobQueueService, type Job, type JobHandle } from 'nest-job-queue';
import { startApp } from '../nest/app.js';
import { startOwnRedis, type OwnRedis } from '../support/own-redis.js';
import { eventually } from '../support/wait.js';
import { loadExample } from './example.js';

let redis: OwnRedis;
const tested = new Set<string>();

beforeAll(async () => {
  redis = await startOwnRedis();
});

/** The example's exports, taken for what the test says they are. */
async function example<Exports>(mark: string): Promise<Exports> {
  tested.add(mark);
  return (await loadExample('jobs.md', mark)) as Exports;
}

async function service(...providers: Provider[]): Promise<JobQueueService> {
  const app = await startApp({ jobs: { redis: redis.url }, providers });
  return app.get(JobQueueService);
}

function handlerOf(name: string, handle: (job: Job<never>) => unknown): Type {
  @JobHandler(name, { maxAttempts: 1 })
  class Handler {
    handle(job: Job<never>) {
      return handle(job);
    }
  }
  return Handler;
}

function failing(name: string): Type {
  return handlerOf(name, (job) => {
    throw new Error((job.payload as { reason: string }).reason);
  });
}

describe('docs/jobs.md', () => {
  it('retries', async () => {
    const { ChargeHandler } = await example<{ ChargeHandler: Type }>('retries');
    const jobs = await service(ChargeHandler);
    expect(await (await jobs.enqueue('charge', { card: 'good' })).result()).toEqual({ charged: true });
    const stolen = await jobs.enqueue('charge', { card: 'stolen' });
    await expect(stolen.result()).rejects.toMatchObject({ attempts: 1, reason: 'the card is stolen' });
    const busy = await jobs.enqueue('charge', { card: 'busy' });
    await eventually(async () => (await busy.get())!.status === 'scheduled');
    expect(await busy.get()).toMatchObject({ attempts: 0, attemptLog: [{ outcome: 'snooze' }] });
  });

  it('crashes', async () => {
    const { howItWent } = await example<{ howItWent: (jobs: JobQueueService, id: string) => Promise<unknown> }>(
      'crashes',
    );
    const jobs = await service();
    const queue = jobs.queue('render');
    const { id } = await jobs.enqueue('render', 1);
    await queue.claim();
    const { keys } = await queue.scripts();
    await queue.connection.client.zadd(keys.claims, 1, id);
    await queue.reclaim();
    expect(await howItWent(jobs, id)).toEqual({ attempts: 1, errors: 0, crashes: 1, interruptions: 0 });
  });

  it('delay', async () => {
    const { remind } = await example<{ remind: (jobs: JobQueueService) => Promise<JobHandle> }>('delay');
    const job = await remind(await service());
    expect((await job.get())!.status).toBe('pending');
  });

  it('unique', async () => {
    const { reindex } = await example<{
      reindex: (jobs: JobQueueService, product: string, version: number) => Promise<string>;
    }>('unique');
    const jobs = await service();
    expect([await reindex(jobs, 'p', 1), await reindex(jobs, 'p', 2)]).toEqual(['new', 'kept']);
    expect((await jobs.queue('notify').list('scheduled')).map(({ payload }) => payload)).toEqual([{ version: 2 }]);
    expect((await jobs.stats('report')).pending).toBe(1);
  });

  it('time-limits', async () => {
    const { FetchHandler, fetchSoon } = await example<{
      FetchHandler: Type;
      fetchSoon: (jobs: JobQueueService, url: string) => Promise<JobHandle>;
    }>('time-limits');
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as AddressInfo;
    try {
      const job = await fetchSoon(await service(FetchHandler), `http://127.0.0.1:${port}`);
      await expect(job.result()).rejects.toMatchObject({ errorName: 'HandlerTimeoutError' });
      expect((await job.get())!.expiresAt).toBeInstanceOf(Date);
    } finally {
      silent.closeAllConnections();
      silent.close();
    }
  });

  it('cancel', async () => {
    const { ImportHandler, stop } = await example<{
      ImportHandler: Type;
      stop: (jobs: JobQueueService, id: string) => Promise<string>;
    }>('cancel');
    const jobs = await service(ImportHandler);
    const job = await jobs.enqueue('import', { rows: 3 });
    await job.result();
    expect(await job.get()).toMatchObject({ progress: { row: 3, of: 3 }, log: [{ message: 'imported 3 rows' }] });
    expect(await stop(jobs, job.id)).toBe('finished');
    const later = await jobs.enqueue('import', { rows: 3 }, { delayMs: 60_000 });
    expect(await stop(jobs, later.id)).toBe('cancelled');
  });

  it('results', async () => {
    const { quotes } = await example<{ quotes: (jobs: JobQueueService) => Promise<number[]> }>('results');
    const prices: Record<string, number> = { A: 1, B: 2, C: 3 };
    const handler = handlerOf('quote', (job) => prices[(job.payload as { symbol: string }).symbol]);
    expect(await quotes(await service(handler))).toEqual([1, 2, 3]);
  });

  it('priority', async () => {
    const { send } = await example<{ send: (jobs: JobQueueService) => Promise<void> }>('priority');
    const jobs = await service();
    await send(jobs);
    const order = (await jobs.queue('newsletter').list('pending')).map(
      ({ payload }) => (payload as { to: string }).to,
    );
    expect(order).toEqual(['a paying customer', 'everybody']);
  });

  it('typed', async () => {
    const { SendEmailHandler, greet } = await example<{
      SendEmailHandler: Type;
      greet: (jobs: JobQueueService) => Promise<string>;
    }>('typed');
    expect(await greet(await service(SendEmailHandler))).toBe('to-ada@example.com');
  });

  it('bulk', async () => {
    const { invite } = await example<{ invite: (jobs: JobQueueService, mails: string[]) => Promise<number> }>(
      'bulk',
    );
    const jobs = await service();
    const mails = Array.from({ length: 1_200 }, (_, i) => `user-${i}@example.com`);
    expect([await invite(jobs, mails), await invite(jobs, mails)]).toEqual([1_200, 0]);
  });

  it('clean', async () => {
    const { tidyUp } = await example<{ tidyUp: (jobs: JobQueueService) => Promise<object> }>('clean');
    const jobs = await service();
    await jobs.enqueueMany('mailing', [{ payload: 1 }, { payload: 2 }, { payload: 3, delayMs: 60_000 }]);
    expect(await tidyUp(jobs)).toEqual({ waiting: 2, old: 0, purged: 1 });
    expect((await jobs.stats('mailing')).pausedAt).toBeNull();
  });

  it('dead-letters', async () => {
    const { repair } = await example<{ repair: (jobs: JobQueueService) => Promise<object> }>('dead-letters');
    const jobs = await service(failing('deliver'));
    const reasons = ['no such user', 'connect ECONNREFUSED', 'connect ECONNREFUSED', 'unsubscribed', 'other'];
    const handles = await jobs.enqueueMany(
      'deliver',
      reasons.map((reason) => ({ payload: { reason, to: 'nobody' } })),
    );
    await Promise.allSettled(handles.map((handle) => handle.result()));
    await jobs.pause('deliver');
    expect(await repair(jobs)).toEqual({ repaired: 1, redriven: 2, discarded: 1 });
    expect((await handles[0]!.get())!.payload).toEqual({ reason: 'no such user', to: 'ada@example.com' });
    expect(await jobs.stats('deliver')).toMatchObject({ failed: 1, pending: 3 });
  });

  it('retention', async () => {
    const { queueModule, LoginHandler } = await example<{
      queueModule: (redis: string) => DynamicModule;
      LoginHandler: Type;
    }>('retention');
    const app = await startApp({ module: queueModule(redis.url), providers: [LoginHandler] });
    const jobs = app.get(JobQueueService);
    const job = await jobs.enqueue('login', { user: 'ada' });
    expect(await job.result()).toBeUndefined();
    expect(jobs.queue('login').options).toMatchObject({ completedHistory: 100, deadLetterAgeMs: 2_592_000_000 });
  });

  it('events', async () => {
    const { Pager } = await example<{
      Pager: Type<{ alerts: string[]; watch(queue: string): unknown; first(queue: string): Promise<string> }>;
    }>('events');
    const app = await startApp({ jobs: { redis: redis.url }, providers: [Pager, failing('backup')] });
    const jobs = app.get(JobQueueService);
    const pager = app.get(Pager);
    const first = pager.first('backup');
    pager.watch('backup');
    const channel = (await jobs.queue('backup').scripts()).keys.events;
    const client = jobs.queue('backup').connection.client;
    await eventually(async () => Number((await client.pubsub('NUMSUB', channel))[1]) === 1);
    const job = await jobs.enqueue('backup', { reason: 'disk full' });
    expect(await first).toBe(`${job.id} failed`);
    await eventually(() => pager.alerts.length === 2);
    expect(pager.alerts.toSorted()).toEqual(
      [`${job.id} failed somewhere`, 'backup failed: Error: disk full'].toSorted(),
    );
  });

  it('has no example that is not run here', () => {
    const text = readFileSync(new URL('../../docs/jobs.md', import.meta.url), 'utf8');
    const marks = [...text.matchAll(/<!-- example: ([\w-]+) -->/g)].map(([, mark]) => mark!);
    expect([...tested]).toEqual(marks);
  });
});
