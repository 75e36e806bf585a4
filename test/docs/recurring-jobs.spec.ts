import { expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { JobQueueService } from 'nest-job-queue';
import { startOwnRedis } from '../support/own-redis.js';
import { startApp } from '../nest/app.js';
import { loadExample } from './example.js';

interface Tenants {
  wantsReport(tenant: string, timeZone: string): Promise<void>;
  wantsNone(tenant: string): Promise<void>;
}

it('the example declares a nightly report, and makes and removes one for a tenant', async () => {
  const redis = await startOwnRedis();
  process.env.REDIS_URL = redis.url;
  const example = await loadExample('recurring-jobs.md', 'recurring-jobs');
  const app = await startApp({ module: example.AppModule as Type });
  const { schedules } = app.get(JobQueueService);
  const tenants = app.get<Tenants>(example.Tenants as Type<Tenants>);

  const nightly = await schedules.get('report', 'report');
  expect(nightly).toMatchObject({ source: 'code', cron: '0 3 * * *', onMissed: 'once' });
  expect(nightly!.nextAt!.toLocaleTimeString('en-GB', { timeZone: 'Europe/Berlin' })).toBe('03:00:00');
  expect(await (await schedules.runNow('report', 'report')).result()).toBe('report of yesterday');

  await tenants.wantsReport('acme', 'America/New_York');
  const acme = await schedules.get('report', 'report-acme');
  const time = { timeZone: 'America/New_York', weekday: 'short', hour: '2-digit', hourCycle: 'h23' } as const;
  expect(acme!.nextAt!.toLocaleString('en-US', time)).toBe('Mon, 09');
  expect(await (await schedules.runNow('report', 'report-acme')).result()).toBe('report of acme');
  await tenants.wantsNone('acme');
  expect((await schedules.list('report')).map(({ id }) => id)).toEqual(['report']);
});
