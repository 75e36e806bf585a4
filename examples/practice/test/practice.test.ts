// Unit tests of the whole app without Redis: its queues are in memory, its clock is the test's.
import 'nest-job-queue/testing/vitest';
import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { getJobQueueServiceToken, JobQueueService } from 'nest-job-queue';
import { JobQueueTesting, JobQueueTestingModule } from 'nest-job-queue/testing';
import request from 'supertest';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppModule } from '../src/app.module.js';
import { AppointmentHandlers } from '../src/appointments/appointment.handlers.js';
import { Outbox } from '../src/common/outbox.js';
import { Timings } from '../src/common/timing.interceptor.js';
import { AnonymizeRecord, ImportLabResult } from '../src/records/record.jobs.js';

const DAY_MS = 86_400_000;

let app: INestApplication;
let testing: JobQueueTesting;
let outbox: Outbox;

beforeEach(async () => {
  const moduleRef = await Test.createTestingModule({
    imports: [AppModule, JobQueueTestingModule.forApp()],
  }).compile();
  app = moduleRef.createNestApplication({ logger: false });
  await app.init();
  testing = app.get(JobQueueTesting);
  outbox = app.get(Outbox);
});

afterEach(() => app.close());

const post = (path: string, body: object, practice = 'north') =>
  request(app.getHttpServer()).post(path).set({ 'x-practice': practice, 'x-request-id': 'r-1' }).send(body);

const booking = () => ({
  animal: 'Rex',
  owner: 'ada@example.com',
  at: new Date(Date.now() + 3 * DAY_MS).toISOString(),
  phone: '+49 1',
});

describe('an appointment', () => {
  it('is confirmed in the name of its practice, and entered', async () => {
    await post('/appointments', booking(), 'south').expect(201);
    expect(testing).toHaveEnqueued('confirmation', { animal: 'Rex' }, { metadata: { practice: 'south' } });
    await testing.drain();
    expect(outbox.sent).toMatchObject([{ by: 'mail', from: 'south@example.com', to: 'ada@example.com' }]);
    expect(app.get(AppointmentHandlers).calendar.size).toBe(1);
  });

  it('is reminded of a day before', async () => {
    await post('/appointments', booking()).expect(201);
    const [{ id }] = testing.enqueued('reminder') as [{ id: string }];
    const status = async () => (await app.get(JobQueueService).get('reminder', id))!.status;
    await testing.drain();
    await testing.advance(DAY_MS);
    expect(await status()).toBe('scheduled');
    await testing.advance(DAY_MS + 60_000);
    expect(await status()).toBe('completed');
  });

  it('that is cancelled reminds of nothing', async () => {
    const { body } = await post('/appointments', booking()).expect(201);
    await testing.drain();
    const { id } = body as { id: string };
    await request(app.getHttpServer()).delete(`/appointments/${id}`).expect(200);
    const reminder = await app.get(JobQueueService).get('reminder', `reminder:${id}`);
    expect(reminder).toMatchObject({ status: 'cancelled' });
  });

  it('is refused by the DTO, in the request as in a job', async () => {
    await post('/appointments', { ...booking(), owner: 'nobody' }).expect(400);
    const job = await app
      .get(JobQueueService)
      .enqueue('confirmation', { ...booking(), owner: 'nobody' }, { metadata: { practice: 'north' } });
    await testing.drain();
    expect(await job.get()).toMatchObject({
      status: 'failed',
      attempts: 1,
      lastError: expect.stringContaining('owner must be an email'),
    });
  });

  it('of an unknown practice is denied, and not tried again', async () => {
    await post('/appointments', booking(), 'west').expect(201);
    await testing.drain();
    expect(outbox.sent).toEqual([]);
    const [denied] = await app.get(JobQueueService).queue('confirmation').list('failed');
    expect(denied).toMatchObject({ attempts: 1, lastError: 'Forbidden resource' });
  });

  it('waits while the gateway is busy, without an attempt used', async () => {
    outbox.busyFor = 2;
    await post('/appointments', booking()).expect(201);
    await testing.drain();
    await testing.advance(120_000);
    expect(outbox.sent).toHaveLength(1);
    const [done] = await app.get(JobQueueService).queue('confirmation').list('completed');
    expect(done).toMatchObject({ attempts: 1 });
  });
});

describe('records', () => {
  it('take results of the laboratory, and name what is abnormal', async () => {
    const job = await app
      .get(JobQueueService)
      .enqueue(ImportLabResult, { animal: 'Rex', values: { a: 5, b: 101 } });
    await testing.drain();
    expect(await job.result()).toEqual({ abnormal: ['b'] });
  });

  it('that are unknown fail for good: the filter says so', async () => {
    const job = await app.get(JobQueueService).enqueue(AnonymizeRecord, { animal: 'Nobody' });
    await testing.drain();
    expect(await job.get()).toMatchObject({ status: 'failed', attempts: 1, lastError: 'no record of Nobody' });
  });
});

describe('billing', () => {
  it('makes an invoice of the practice, and sends the receipt, on its own server', async () => {
    const { body } = await post('/treatments', { owner: 'ada@example.com', cents: 1_250 }).expect(201);
    await testing.drain();
    const billing = app.get<JobQueueService>(getJobQueueServiceToken('billing'));
    const record = (await billing.get('invoice', (body as { id: string }).id))!;
    expect(record.result).toEqual({ invoice: expect.stringMatching(/^north-\d+$/) });
    expect(outbox.sent).toMatchObject([{ to: 'ada@example.com', text: expect.stringContaining('12.50') }]);
  });
});

it('times each kind of job by the global interceptor', async () => {
  await app.get(JobQueueService).enqueue('statistics', {}, { queue: 'records' });
  await testing.drain();
  expect(app.get(Timings).byName.get('statistics')).toHaveLength(1);
});

it('looks for vaccinations, which its schedule enqueues, and reminds of them', async () => {
  const jobs = app.get(JobQueueService);
  const [schedule] = await jobs.schedules.list('vaccinations');
  expect(schedule).toMatchObject({ cron: '0 7 * * *', timeZone: 'Europe/Berlin', status: 'active' });
  await jobs.schedules.runNow('vaccinations', 'vaccinations');
  await testing.drain();
  expect(outbox.sent).toMatchObject([{ by: 'sms', to: '+49 1', text: 'Tomorrow: Rex', from: 'north' }]);
});
