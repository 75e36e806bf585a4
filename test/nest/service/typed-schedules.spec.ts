import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  defineJob,
  InvalidPayloadError,
  JobHandler,
  JobQueueService,
  RecurringJob,
  type Job,
} from 'nest-job-queue';
import { z } from 'zod';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { HOURLY } from '../../support/queue/schedules.js';
import { compileApp, startApp } from '../app.js';

function report(payload: z.ZodType<{ of: string }> = z.object({ of: z.string() })) {
  return defineJob(uniqueQueueName('report'), { payload, expiresInMs: 60_000 });
}

function recurring(Report: ReturnType<typeof report>, payload: unknown) {
  @Injectable()
  class Reports {
    @JobHandler(Report)
    @RecurringJob(HOURLY, { payload })
    daily(_job: Job<{ of: string }>) {}
  }
  return Reports;
}

describe('@RecurringJob of a definition', () => {
  it.each([
    ['a schema', report(), 'string, found 5.'],
    ['an asynchronous one', report(z.object({ of: z.string() }).refine(async () => true)), 'string, found 5.'],
  ])('stops the boot where its payload does not fit %s', async (_, Report, words) => {
    const app = await compileApp({ providers: [recurring(Report, { of: 5 })] });
    const error = await app.init().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidPayloadError);
    expect((error as Error).message).toBe(
      `@RecurringJob of @JobHandler("${Report.name}") on Reports.daily.payload.of: expected ${words}`,
    );
    const observer = (await startApp({})).get(JobQueueService);
    expect(await observer.schedules.list(Report)).toEqual([]);
  });

  it('that fits runs with the defaults of the definition', async () => {
    const Report = report();
    const jobs = (await startApp({ providers: [recurring(Report, { of: 'all' })] })).get(JobQueueService);
    const run = await jobs.schedules.runNow(Report, Report.name);
    await run.result();
    expect(await run.get()).toMatchObject({ payload: { of: 'all' }, expiresAt: expect.any(Date) });
  });
});

describe('an upsert of a definition through the service', () => {
  it('refuses a payload that does not fit, with its path, and writes nothing', async () => {
    const Report = report();
    const jobs = (await startApp({})).get(JobQueueService);
    const upsert = (payload: { of: string }) => jobs.schedules.upsert(Report, 'eu', HOURLY, { payload });
    const refused = await upsert({ of: 5 } as never).catch((thrown: unknown) => thrown);
    expect(refused).toEqual(new InvalidPayloadError('schedule "eu".payload.of', 'string', '5'));
    expect(await jobs.schedules.list(Report)).toEqual([]);
    expect(await upsert({ of: 'eu' })).toBe('created');
    expect(await jobs.schedules.get(Report, 'eu')).toMatchObject({ name: Report.name, payload: { of: 'eu' } });
  });

  it('leaves a name unchecked, as enqueue does', async () => {
    const Report = report();
    const jobs = (await startApp({})).get(JobQueueService);
    expect(await jobs.schedules.upsert(Report.name, 'eu', HOURLY, { payload: { of: 5 } })).toBe('created');
  });
});
