// The examples on types, many jobs and their ends, and the promises of the text.
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import type { DynamicModule, INestApplication, Type } from '@nestjs/common';
import { JobQueueService } from 'nest-job-queue';
import type { Subscription } from 'rxjs';
import { MaintenanceScheduler } from '#nest/lifecycle/maintenance.scheduler.js';
import { startApp } from '../../nest/app.js';
import { eventually } from '../../support/faults/wait.js';
import { example, failing, PAGES, readPage, redisUrl, service, stateOf } from './jobs-setup.js';

/** Runs the app's sweep, whenever it has tidied last. */
async function sweep(app: INestApplication, queue: string): Promise<void> {
  const { redis, keys } = stateOf(queue);
  await redis.hdel(keys.sweep, 'tidied_at_ms');
  await app.get(MaintenanceScheduler).runOnce();
}

const read = (file: string) => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');

it('typed', async () => {
  const { SendEmailHandler, SendEmail, greet } = await example<{
    SendEmailHandler: Type;
    SendEmail: Parameters<JobQueueService['queue']>[0];
    greet: (jobs: JobQueueService) => Promise<string>;
  }>('typed');
  const jobs = await service(SendEmailHandler);
  expect(await greet(jobs)).toBe('to-ada@example.com');
  expect(await jobs.queue(SendEmail).list('completed')).toMatchObject([{ maxAttempts: 5 }]); // the definition's
  // Refused at the enqueue with the path of the fault; stored, a dead letter with the same message.
  const refusal = (await jobs.enqueue(SendEmail, { to: 'nobody' }).catch((error: unknown) => error)) as Error;
  expect(refusal).toMatchObject({ name: 'InvalidPayloadError', message: expect.stringContaining('payload.to') });
  const stored = await jobs.queue('send-email').enqueue({ to: 'nobody' });
  await expect(stored.result()).rejects.toMatchObject({
    name: 'JobFailedError',
    reason: refusal.message,
    attempts: 1,
  });
  const letters = jobs.queue(SendEmail).deadLetters;
  await expect(letters.redrive(stored.id, { payload: { to: 5 } })).rejects.toThrow('payload.to');
  expect(await letters.redrive(stored.id, { payload: { to: 'bob@example.com', at: new Date(0) } })).toBe(true);
  expect(await stored.result()).toEqual({ messageId: 'to-bob@example.com' });
});

it('bulk', async () => {
  const { invite } = await example<{ invite: (jobs: JobQueueService, mails: string[]) => Promise<number> }>('bulk');
  const jobs = await service();
  const mails = Array.from({ length: 1_200 }, (_, i) => `user-${i}@example.com`);
  expect([await invite(jobs, mails), await invite(jobs, mails)]).toEqual([1_200, 0]);
  expect((await jobs.queue('invite').stats()).pending).toBe(1_200);
  // All are checked before the first is sent.
  await expect(invite(jobs, ['new@example.com', 'no\tid'])).rejects.toMatchObject({ name: 'InvalidOptionError' });
  expect(await jobs.get('invite', 'invite-new@example.com')).toBeNull();
});

it('list-filtered', async () => {
  const { failuresOf } = await example<{
    failuresOf: (jobs: JobQueueService, tenant: string) => Promise<string[]>;
  }>('list-filtered');
  const jobs = await service();
  const queue = jobs.queue('invoice');
  for (const tenant of ['acme', 'zeta']) {
    await jobs.enqueue('invoice', {}, { id: tenant, metadata: { tenant }, maxAttempts: 1 });
    await queue.fail((await queue.claim())!, new Error('no such account'));
  }
  expect(await failuresOf(jobs, 'acme')).toEqual(['acme: no such account']);
  expect(await failuresOf(jobs, 'nobody')).toEqual([]);
});

it('clean', async () => {
  const { tidyUp } = await example<{ tidyUp: (jobs: JobQueueService) => Promise<object> }>('clean');
  const jobs = await service();
  const [old] = await jobs.enqueueMany('mailing', [{ payload: 0 }, { payload: 1 }, { payload: 2 }]);
  const queue = jobs.queue('mailing');
  await queue.complete((await queue.claim())!);
  await jobs.enqueue('mailing', 3, { delayMs: 60_000 });
  // What has just been completed is not old enough; the purge takes it.
  expect(await tidyUp(jobs)).toEqual({ waiting: 2, old: 0, purged: 2 });
  expect((await jobs.queue('mailing').stats()).pausedAt).toBeNull();
  expect(await old!.get()).toBeNull();
  expect((await jobs.queue('mailing').stats()).totals).toMatchObject({ enqueued: 4, completed: 1 });
});

it('clean, and the verbs beside it', async () => {
  const jobs = await service();
  const queue = jobs.queue('mailing-list');
  const { id } = await jobs.enqueue('mailing-list', 1);
  const running = (await queue.claim())!;
  expect(await jobs.pause('mailing-list')).toBe(true);
  await jobs.enqueue('mailing-list', 2);
  expect(await queue.claim()).toBeNull(); // to nobody
  expect(await jobs.queue('mailing-list').remove(id)).toBe('processing'); // unless it runs
  expect(await queue.complete(running)).toBe(true); // running jobs continue
  expect(await jobs.queue('mailing-list').list('pending', { limit: 1 })).toMatchObject([{ payload: 2 }]);
  const { redis, keys } = stateOf('mailing-list');
  await redis.hset(keys.job(id), 'completed_at_ms', 1);
  expect(await jobs.queue('mailing-list').clean('completed', { olderThanMs: 60_000 })).toBe(1);
  await expect(jobs.queue('mailing-list').purge({ confirm: 'mailing' })).rejects.toMatchObject({
    name: 'InvalidOptionError',
  });
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
  const { redis, keys } = stateOf('deliver');
  expect(await redis.pttl(keys.job(handles[4]!.id))).toBe(-1); // no time to live
  await jobs.pause('deliver');
  expect(await repair(jobs)).toEqual({ repaired: 1, redriven: 2, discarded: 1 });
  expect(await handles[0]!.get()).toMatchObject({
    status: 'pending',
    attempts: 0,
    payload: { reason: 'no such user', to: 'ada@example.com' },
  });
  expect(await handles[3]!.get()).toBeNull();
  expect(await jobs.queue('deliver').stats()).toMatchObject({ failed: 1, pending: 3 });
});

it('retention', async () => {
  const { queueModule, LoginHandler } = await example<{
    queueModule: (redis: string) => DynamicModule;
    LoginHandler: Type;
  }>('retention');
  const app = await startApp({ module: queueModule(redisUrl()), providers: [LoginHandler] });
  const jobs = app.get(JobQueueService);
  expect(jobs.queue('login').options).toMatchObject({ completedHistory: 100, deadLetterAgeMs: 2_592_000_000 });
  const handles = await jobs.enqueueMany(
    'login',
    Array.from({ length: 110 }, () => ({ payload: { user: 'ada' } })),
  );
  expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual(handles.map(() => undefined));
  const { redis, keys } = stateOf('login');
  await sweep(app, 'login');
  expect((await jobs.queue('login').stats()).completed).toBe(100);
  for (const { id } of handles) {
    expect(await redis.hexists(keys.job(id), 'result')).toBe(0); // also where only a hash remembers it
    expect(await redis.pttl(keys.job(id))).toBeLessThanOrEqual(10_000);
  }
});

it('outcome', async () => {
  const { withOutcomes, didItRun } = await example<{
    withOutcomes: (redis: string) => DynamicModule;
    didItRun: (jobs: JobQueueService, id: string) => Promise<string | null>;
  }>('outcome');
  const app = await startApp({ module: withOutcomes(redisUrl()) });
  const jobs = app.get(JobQueueService);
  const { id } = await jobs.enqueue('invoice', 1);
  expect(await didItRun(jobs, id)).toBeNull();
  const queue = jobs.queue('invoice');
  await queue.complete((await queue.claim())!);
  const { redis, keys } = stateOf('invoice');
  await redis.del(keys.job(id));
  expect(await jobs.get('invoice', id)).toBeNull();
  expect(await didItRun(jobs, id)).toMatch(/^completed at 20.*Z, attempts: 1$/);
  await redis.del(keys.outcomesA, keys.outcomesB);
});

it('event-extras', async () => {
  const { ImportModule, untilDrained } = await example<{
    ImportModule: Type;
    untilDrained: (jobs: JobQueueService, notes: string[]) => Promise<void>;
  }>('event-extras');
  process.env.REDIS_URL = redisUrl();
  const jobs = (await startApp({ module: ImportModule })).get(JobQueueService);
  const notes: string[] = [];
  const done = untilDrained(jobs, notes);
  const { redis, keys } = stateOf('import');
  await eventually(async () => Number((await redis.pubsub('NUMSUB', keys.events))[1]) === 1);
  await jobs.enqueue('import', { rows: 7 });
  await done;
  expect(notes).toEqual(['progress 1 0.5', 'completed 1 {"imported":7}', 'drained  null']);
});

it('events', async () => {
  const { Pager } = await example<{
    Pager: Type<{ alerts: string[]; watch(queue: string): Subscription; first(queue: string): Promise<string> }>;
  }>('events');
  const app = await startApp({ jobs: { redis: redisUrl() }, providers: [Pager, failing('backup')] });
  const jobs = app.get(JobQueueService);
  const pager = app.get(Pager);
  const first = pager.first('backup');
  const watching = pager.watch('backup');
  const { redis, keys } = stateOf('backup');
  const listeners = async () => Number((await redis.pubsub('NUMSUB', keys.events))[1]);
  await eventually(async () => (await listeners()) === 1);
  const job = await jobs.enqueue('backup', { reason: 'disk full' });
  expect(await first).toBe(`${job.id} failed`);
  await eventually(() => pager.alerts.length === 2);
  expect(pager.alerts.toSorted()).toEqual(
    [`${job.id} failed somewhere`, 'backup failed: Error: disk full'].toSorted(),
  );
  watching.unsubscribe();
  await eventually(async () => (await listeners()) === 0); // only while somebody listens
});

it('has no example that no spec runs', () => {
  const text = PAGES.map((page) => readPage(page)).join('');
  const marks = [...text.matchAll(/<!-- example: ([\w-]+) -->/g)].map(([, mark]) => mark!);
  const specs = ['jobs', 'jobs-many', 'jobs-change'].map((name) => read(`test/docs/jobs/${name}.spec.ts`)).join('');
  expect(marks.filter((mark) => !specs.includes(`it('${mark}', `))).toEqual([]);
});
