// The examples of docs/jobs.md on one job, and the promises of the text beside each.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, jest } from '@jest/globals';
import type { Type } from '@nestjs/common';
import type { JobHandle, JobQueueService } from 'nest-job-queue';
import { eventually } from '../../support/faults/wait.js';
import { example, failing, handlerOf, service, stateOf } from './jobs-setup.js';

const HOUR = 3_600_000;

it('retries', async () => {
  const { ChargeHandler } = await example<{ ChargeHandler: Type }>('retries');
  const jobs = await service(ChargeHandler);
  expect(await (await jobs.enqueue('charge', { card: 'good' })).result()).toEqual({ charged: true });
  const stolen = await jobs.enqueue('charge', { card: 'stolen' });
  await expect(stolen.result()).rejects.toMatchObject({ attempts: 1, reason: 'the card is stolen' });
  expect((await stolen.get())!.attemptLog).toMatchObject([
    {
      attempt: 1,
      outcome: 'error',
      error: { name: 'NonRetryableError', message: 'the card is stolen' },
      worker: expect.any(String),
      startedAt: expect.any(Date),
      endedAt: expect.any(Date),
    },
  ]);
  const busy = await jobs.enqueue('charge', { card: 'busy' });
  await eventually(async () => (await busy.get())!.status === 'scheduled');
  expect(await busy.get()).toMatchObject({ attempts: 0, attemptLog: [{ outcome: 'snooze' }] });
  // Any other error is tried again, a second after it, give or take a fifth.
  const broken = await jobs.enqueue('charge', null);
  await eventually(async () => (await broken.get())!.status === 'scheduled');
  const { attempts, errors, attemptLog, dueAt } = (await broken.get())!;
  expect({ attempts, errors }).toEqual({ attempts: 1, errors: 1 });
  expect(attemptLog).toMatchObject([{ outcome: 'error', error: { name: 'TypeError' } }]);
  const waits = dueAt!.getTime() - attemptLog[0]!.endedAt.getTime();
  expect(waits).toBeGreaterThanOrEqual(800);
  expect(waits).toBeLessThanOrEqual(1_200);
});

it('crashes', async () => {
  const { howItWent } = await example<{ howItWent: (jobs: JobQueueService, id: string) => Promise<unknown> }>(
    'crashes',
  );
  const jobs = await service();
  const queue = jobs.queue('render');
  const { id } = await jobs.enqueue('render', 1, { maxAttempts: 10 });
  await queue.release((await queue.claim())!); // as a shutdown does
  expect(await howItWent(jobs, id)).toEqual({ attempts: 0, errors: 0, crashes: 0, interruptions: 1 });
  for (let crashes = 1; crashes <= 3; crashes++) {
    expect((await jobs.get('render', id))!.status).toBe('pending');
    await queue.claim();
    await stateOf('render').expireClaims(id);
    await queue.reclaim();
    expect(await howItWent(jobs, id)).toEqual({ attempts: crashes, errors: 0, crashes, interruptions: 1 });
  }
  const { status, lastError } = (await jobs.get('render', id))!;
  expect([status, lastError]).toEqual(['failed', expect.stringContaining('its worker died 3 times')]);
});

it('delay', async () => {
  const { remind } = await example<{ remind: (jobs: JobQueueService) => Promise<JobHandle> }>('delay');
  const jobs = await service();
  const moves = jest.spyOn(jobs.queue('remind'), 'reschedule');
  const begun = Date.now();
  const job = await remind(jobs);
  expect(await Promise.all(moves.mock.results.map(({ value }) => value as Promise<string>))).toEqual([
    'scheduled',
    'pending',
  ]);
  expect((await job.get())!.status).toBe('pending');
  const later = await jobs.enqueue('remind', 1, { runAt: begun + HOUR });
  expect(await later.get()).toMatchObject({ status: 'scheduled', dueAt: new Date(begun + HOUR) });
  const both: object = { runAt: begun, delayMs: 1 }; // the types refuse it too
  const refused = [both, { delayMs: 366 * 24 * HOUR }, { runAt: begun + 366 * 24 * HOUR }];
  for (const options of refused) {
    await expect(jobs.enqueue('remind', 1, options)).rejects.toMatchObject({ name: 'InvalidOptionError' });
  }
});

it('unique', async () => {
  const { reindex } = await example<{
    reindex: (jobs: JobQueueService, product: string, version: number) => Promise<string>;
  }>('unique');
  const jobs = await service();
  expect([await reindex(jobs, 'p', 1), await reindex(jobs, 'p', 2)]).toEqual(['new', 'kept']);
  const [notify, ...others] = await jobs.queue('notify').list('scheduled');
  expect([notify!.payload, others]).toEqual([{ version: 2 }, []]);
  expect((await jobs.queue('report').stats()).pending).toBe(1);
  // The first stops waiting once it runs, so that another may wait. The hour continues after the end of the report.
  await jobs.queue('index').claim();
  await jobs.queue('report').complete((await jobs.queue('report').claim())!);
  await stateOf('notify').makeDue(notify!.id);
  expect(await reindex(jobs, 'p', 3)).toBe('new');
  expect((await jobs.queue('report').stats()).pending).toBe(0);
  const moved = (await jobs.get('notify', notify!.id))!;
  expect([moved.status, moved.payload]).toEqual(['scheduled', { version: 3 }]);
  expect(Math.abs(moved.dueAt!.getTime() - Date.now() - 10_000)).toBeLessThan(5_000);
});

it('debounce', async () => {
  const { saved } = await example<{
    saved: (jobs: JobQueueService, page: string, text: string) => Promise<JobHandle>;
  }>('debounce');
  const jobs = await service();
  const { id } = await saved(jobs, 'home', 'a');
  const { enqueuedAt } = (await jobs.get('render-page', id))!;
  const began = enqueuedAt.getTime() - 59_000;
  await stateOf('render-page').redis.hset(stateOf('render-page').keys.job(id), 'enqueued_at_ms', began);
  expect((await saved(jobs, 'home', 'ab')).outcome).toBe('replaced');
  const bounded = (await jobs.get('render-page', id))!;
  expect([bounded.payload, bounded.dueAt!.getTime()]).toEqual([{ page: 'home', text: 'ab' }, began + 60_000]);
});

it('newest', async () => {
  const { PreviewHandler, preview } = await example<{
    PreviewHandler: Type<{ stopped: string[] }>;
    preview: (jobs: JobQueueService, page: string, url: string) => Promise<JobHandle>;
  }>('newest');
  let asked = 0;
  const server = createServer((_request, response) => void (asked++ > 0 && response.end('<p>')));
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const jobs = await service(PreviewHandler);
  try {
    const older = await preview(jobs, 'home', url);
    await eventually(() => asked === 1);
    const newer = await preview(jobs, 'home', url);
    expect(await newer.result()).toEqual({ html: '<p>' });
    await expect(older.result()).rejects.toMatchObject({ name: 'JobCancelledError', supersededBy: newer.id });
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

it('time-limits', async () => {
  const { FetchHandler, fetchSoon } = await example<{
    FetchHandler: Type;
    fetchSoon: (jobs: JobQueueService, url: string) => Promise<JobHandle>;
  }>('time-limits');
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await new Promise((resolve) => silent.once('listening', resolve));
  const { port } = silent.address() as AddressInfo;
  const jobs = await service(FetchHandler);
  try {
    const job = await fetchSoon(jobs, `http://127.0.0.1:${port}`);
    await expect(job.result()).rejects.toMatchObject({ errorName: 'HandlerTimeoutError' });
    const { expiresAt, enqueuedAt } = (await job.get())!;
    expect(expiresAt!.getTime() - enqueuedAt.getTime()).toBe(60_000);
  } finally {
    silent.closeAllConnections();
    silent.close();
  }
  // Only a claim sees that a job has expired.
  await jobs.pause('fetch');
  const late = await fetchSoon(jobs, 'http://127.0.0.1');
  const { redis, keys } = stateOf('fetch');
  await redis.hset(keys.job(late.id), 'expires_at_ms', 1);
  expect((await late.get())!.status).toBe('pending');
  await jobs.resume('fetch');
  await expect(late.result()).rejects.toMatchObject({
    attempts: 0,
    reason: expect.stringContaining('not started within its expiresInMs'),
  });
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
  expect(await stop(jobs, 'nobody')).toBe('missing');
});

it('cancel, of a job that runs', async () => {
  const { ImportHandler, stop } = await example<{
    ImportHandler: Type;
    stop: (jobs: JobQueueService, id: string) => Promise<string>;
  }>('cancel');
  const jobs = await service(ImportHandler);
  const job = await jobs.enqueue('import', { rows: 1e9 });
  const elsewhere = await service();
  await eventually(async () => (await elsewhere.get('import', job.id))!.progress); // while it runs
  expect(await stop(elsewhere, job.id)).toBe('requested');
  await expect(job.result({ timeoutMs: 15_000 })).rejects.toMatchObject({ name: 'JobCancelledError' });
  expect((await job.get())!.log).toEqual([]);
});

it('results', async () => {
  const { quotes } = await example<{ quotes: (jobs: JobQueueService) => Promise<number[]> }>('results');
  const prices: Record<string, number> = { A: 1, B: 2, C: 3 };
  const handler = handlerOf('quote', (job) => prices[(job.payload as { symbol: string }).symbol]);
  const jobs = await service(handler, failing('bad'));
  expect(await quotes(jobs)).toEqual([1, 2, 3]);
  // A bad end is an error, each of its own kind.
  const failed = await jobs.enqueue('bad', { reason: 'no such symbol' });
  await expect(failed.result()).rejects.toMatchObject({ name: 'JobFailedError', reason: 'no such symbol' });
  const waiting = await jobs.enqueue('quote', { symbol: 'A' }, { delayMs: 60_000 });
  await expect(waiting.result({ timeoutMs: 50 })).rejects.toMatchObject({ name: 'JobTimeoutError' });
  await jobs.cancel('quote', waiting.id);
  await expect(waiting.result()).rejects.toMatchObject({ name: 'JobCancelledError' });
  await expect(jobs.result('quote', 'nobody')).rejects.toMatchObject({ name: 'JobNotFoundError' });
});

it('priority', async () => {
  const { send } = await example<{ send: (jobs: JobQueueService) => Promise<void> }>('priority');
  const jobs = await service();
  await send(jobs);
  const order = (await jobs.queue('newsletter').list('pending')).map(
    ({ payload }) => (payload as { to: string }).to,
  );
  expect(order).toEqual(['a paying customer', 'everybody']);
  // First come first served within one, and one claim in ten goes to another priority.
  for (let i = 0; i < 10; i++) {
    await jobs.enqueue('newsletter', { to: i }, { priority: 100 });
  }
  const claimed: unknown[] = [];
  for (let i = 0; i < 5; i++) {
    claimed.push(((await jobs.queue('newsletter').claim())!.payload as { to: unknown }).to);
  }
  expect(claimed.filter((to) => to !== 'everybody')).toEqual(['a paying customer', 0, 1, 2]);
  expect(claimed).toContain('everybody');
});
