// Every example of docs/recurring-jobs.md, as written, and what the text beside it promises.
import { readFileSync } from 'node:fs';
import { beforeAll, expect, it } from '@jest/globals';
import type { Provider, Type } from '@nestjs/common';
import { JobQueueService, type JobHandle, type JobQueue, type ScheduleRecord } from 'nest-job-queue';
import { startOwnRedis, type OwnRedis } from '../../support/redis/own-redis.js';
import { queueOn } from '../../support/queue/queue-state.js';
import { connect } from '../../support/redis/redis.js';
import { HOUR, TestSchedules } from '../../support/queue/schedules.js';
import { eventually } from '../../support/faults/wait.js';
import { startApp } from '../../nest/app.js';
import { loadExample } from '../example.js';

interface Tenants {
  wantsReport(tenant: string, timeZone: string): Promise<void>;
  wantsNone(tenant: string): Promise<void>;
}

const tested = new Set<string>();
let redis: OwnRedis;

beforeAll(async () => {
  redis = await startOwnRedis();
  process.env.REDIS_URL = redis.url;
});

/** Returns the example's exports, with the types that the test gives. */
async function example<Exports>(mark: string): Promise<Exports> {
  tested.add(mark);
  return loadExample<Exports>('recurring-jobs.md', mark);
}

async function service(...providers: Provider[]): Promise<JobQueueService> {
  return (await startApp({ jobs: { redis: redis.url }, providers })).get(JobQueueService);
}

function seeds(queue: string): TestSchedules {
  return new TestSchedules(queueOn(connect({}, redis.url), {}, queue));
}

it('recurring-jobs: declares a nightly report, and makes and removes one for a tenant', async () => {
  const { AppModule, Tenants } = await example<{ AppModule: Type; Tenants: Type<Tenants> }>('recurring-jobs');
  const app = await startApp({ module: AppModule });
  const { schedules } = app.get(JobQueueService);
  const tenants = app.get(Tenants);

  const nightly = await schedules.get('report', 'report');
  expect(nightly).toMatchObject({ source: 'code', cron: '0 3 * * *', onMissed: 'once' });
  expect(nightly!.nextAt!.toLocaleTimeString('en-GB', { timeZone: 'Europe/Berlin' })).toBe('03:00:00');
  expect(await (await schedules.runNow('report', 'report')).result()).toBe('report of yesterday');
  // What code declares, code alone changes.
  await expect(schedules.upsert('report', 'report', { everyMs: HOUR })).rejects.toThrow('report');
  await expect(schedules.remove('report', 'report')).rejects.toThrow('report');

  await tenants.wantsReport('acme', 'America/New_York');
  const acme = await schedules.get('report', 'report-acme');
  const time = { timeZone: 'America/New_York', weekday: 'short', hour: '2-digit', hourCycle: 'h23' } as const;
  expect(acme!.nextAt!.toLocaleString('en-US', time)).toBe('Mon, 09');
  await tenants.wantsReport('acme', 'America/New_York');
  expect(await schedules.get('report', 'report-acme')).toEqual(acme); // an equal one changes nothing
  expect(await (await schedules.runNow('report', 'report-acme')).result()).toBe('report of acme');
  await tenants.wantsNone('acme');
  expect((await schedules.list('report')).map(({ id }) => id)).toEqual(['report']);
});

it('when-it-ticks: at times of a zone, of UTC by default, and at whole multiples since 1970', async () => {
  const { plan } = await example<{ plan: (jobs: JobQueueService) => Promise<ScheduleRecord[]> }>('when-it-ticks');
  const jobs = await service();
  const planned = new Map((await plan(jobs)).map((schedule) => [schedule.id, schedule]));
  const next = (id: string) => planned.get(id)!.nextAt!;
  expect(next('nightly').toLocaleTimeString('en-GB', { timeZone: 'Europe/Berlin' })).toBe('02:30:00');
  expect(planned.get('half-hourly')!.timeZone).toBe('UTC');
  expect(next('half-hourly').getTime() % (HOUR / 2)).toBe(0);
  expect(next('half-hourly').getTime() - Date.now()).toBeLessThanOrEqual(HOUR / 2);
  expect(next('hourly').getTime() % HOUR).toBe(0);
  // No restart moves them: the same plan finds the same times.
  expect((await plan(jobs)).map(({ nextAt }) => nextAt)).toEqual([...planned.values()].map(({ nextAt }) => nextAt));

  // By default a tick that is a minute late counts as missed, and is left out.
  const seeded = seeds('backup');
  await seeded.makeDue('hourly', 61_000);
  await jobs.queue('backup').schedules.tick();
  expect(await jobs.queue('backup').list('pending')).toEqual([]);
  const due = await seeded.makeDue('hourly', 50_000);
  await jobs.queue('backup').schedules.tick();
  expect(await jobs.queue('backup').list('pending')).toMatchObject([
    { id: `@schedule:hourly:${due}`, schedule: 'hourly' },
  ]);
  await expect(jobs.schedules.upsert('backup', 'never', { cron: '0 0 30 2 *' })).rejects.toMatchObject({
    name: 'InvalidOptionError',
  });
});

it('bounds: reminds three times at most, and not after the end', async () => {
  const { remind } = await example<{
    remind: (jobs: JobQueueService, customer: string, offerEndsAt: Date) => Promise<ScheduleRecord>;
  }>('bounds');
  const jobs = await service();
  const endAt = new Date(Date.now() + 1_000 * HOUR);
  const made = await remind(jobs, 'ada', endAt);
  expect(made).toMatchObject({ status: 'active', endAt, limit: 3, jitterMs: 600_000 });
  expect(made.nextAt!.toLocaleTimeString('en-GB', { timeZone: 'Europe/Berlin' })).toMatch(/^08:0|^08:10:00/);
  const [seeded, { schedules }] = [seeds('reminder'), jobs.queue('reminder')];
  for (let n = 5; n > 0; n--) {
    await seeded.makeDue('offer-ada', n * 1_000);
    await schedules.tick();
  }
  expect(await jobs.queue('reminder').list('pending')).toHaveLength(3);
  expect(await schedules.get('offer-ada')).toMatchObject({ status: 'ended', nextAt: null, ticks: 3 });
  expect(await remind(jobs, 'bob', new Date(Date.now() - 1_000))).toMatchObject({ status: 'ended' });
});

it('schedule-options: catches up by one job, enqueues none beside an unfinished one, and hands its options on', async () => {
  const { SyncHandler } = await example<{ SyncHandler: Type }>('schedule-options');
  const jobs = await service(SyncHandler);
  await jobs.pause('sync'); // a job that waits is unfinished
  const { schedules } = jobs.queue('sync');
  const seeded = seeds('sync');
  const due = await seeded.makeDue('sync', 10 * HOUR);
  await schedules.tick();
  const [job] = await eventually(async () => {
    const waiting = await jobs.queue('sync').list('pending');
    return waiting.length > 0 && waiting;
  });
  expect(job).toMatchObject({
    id: `@schedule:sync:${due}`,
    schedule: 'sync',
    payload: { full: false },
    priority: 10,
  });
  expect((await schedules.get('sync'))!.nextAt!.getTime()).toBeGreaterThan(Date.now() - 1_000);
  await seeded.makeDue('sync');
  await schedules.tick();
  await eventually(async () => (await seeded.dueAt('sync')) > Date.now() - 1_000);
  expect(await jobs.queue('sync').list('pending')).toHaveLength(1);
  await jobs.resume('sync');
  expect(await jobs.result('sync', job!.id)).toBe('what is new');
});

it('operate: a pause makes no tick, and none up afterwards; runNow continues', async () => {
  const { maintain } = await example<{
    maintain: (jobs: JobQueueService, work: () => Promise<void>) => Promise<JobHandle>;
  }>('operate');
  const jobs = await service();
  await jobs.schedules.upsert('digest', 'weekly', { cron: '0 8 * * MON' }, { onMissed: 'once' });
  const { schedules } = jobs.queue('digest');
  await seeds('digest').makeDue('weekly', 10 * HOUR);
  const job = await maintain(jobs, async () => {
    expect(await schedules.get('weekly')).toMatchObject({ status: 'paused', nextAt: null });
    await schedules.tick();
    expect(await jobs.queue('digest').list('pending')).toEqual([]);
  });
  await schedules.tick();
  expect((await jobs.queue('digest').list('pending')).map(({ id }) => id)).toEqual([job.id]);
  const after = (await schedules.get('weekly'))!;
  expect(after.status).toBe('active');
  expect(after.nextAt!.getTime()).toBeGreaterThan(Date.now());
  await jobs.queue('digest').purge({ confirm: 'digest' });
  expect((await jobs.schedules.list('digest')).map(({ id }) => id)).toEqual(['weekly']);
});

it('ticker: makes the ticks of a queue without a worker of ours, once, however many do', async () => {
  const { startTicking } = await example<{
    startTicking: (queue: JobQueue, warn: (error: unknown) => void) => () => void;
  }>('ticker');
  const jobs = await service();
  const queue = jobs.queue('etl');
  await queue.schedules.upsert('load', { everyMs: HOUR });
  const due = await seeds('etl').makeDue('load');
  const errors: unknown[] = [];
  const stops = [1, 2, 3].map(() => startTicking(queue, (error) => errors.push(error)));
  try {
    await eventually(async () => (await queue.stats()).pending > 0);
  } finally {
    stops.forEach((stop) => stop());
  }
  await queue.schedules.tick();
  expect((await jobs.queue('etl').list('pending')).map(({ id }) => id)).toEqual([`@schedule:load:${due}`]);
  expect(errors).toEqual([]);
});

it('has no example that is not run here', () => {
  const text = readFileSync(new URL('../../../docs/recurring-jobs.md', import.meta.url), 'utf8');
  const marks = [...text.matchAll(/<!-- example: ([\w-]+) -->/g)].map(([, mark]) => mark!);
  expect([...tested]).toEqual(marks);
});
