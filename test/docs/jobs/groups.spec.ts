// The example of docs/groups.md, as written.
import { expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobQueueService } from 'nest-job-queue';
import { startApp } from '../../nest/app.js';
import { eventually } from '../../support/faults/wait.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { loadExample } from '../example.js';

it('docs/groups.md: each tenant gets its reports in order', async () => {
  const { ReportHandler, sendReports } = (await loadExample('groups.md', 'groups')) as {
    ReportHandler: Type<{ sent: string[] }>;
    sendReports: (jobs: JobQueueService) => Promise<void>;
  };
  const redis = await startOwnRedis(); // the queue of the example has a fixed name
  const app = await startApp({ jobs: { redis: redis.url }, providers: [ReportHandler] });
  await sendReports(app.get(JobQueueService));
  const { sent } = app.get(ReportHandler);
  await eventually(() => sent.length === 4);
  for (const tenant of ['tenant-1', 'tenant-2']) {
    expect(sent.filter((each) => each.startsWith(tenant))).toEqual([`${tenant} january`, `${tenant} february`]);
  }
});

it('docs/groups.md: overrides by a function and by name hold for their groups', async () => {
  const { TenantsModule } = (await loadExample('groups.md', 'group-overrides')) as { TenantsModule: Type };
  const redis = await startOwnRedis();
  const before = process.env.REDIS_URL;
  process.env.REDIS_URL = redis.url; // of forRoot without an address
  const app = await NestFactory.createApplicationContext(TenantsModule, { logger: false });
  try {
    const jobs = app.get(JobQueueService);
    await jobs.enqueue('email', {}, { group: 'paid-7' });
    await jobs.enqueue('email', {}, { group: 'free-1' });
    await jobs.enqueue('report', {}, { group: 'tenant-42' });
    const limits = async (queue: string, group: string) => (await jobs.queue(queue).groups.get(group)).limits;
    expect(await limits('email', 'paid-7')).toEqual({ maxRunning: 5, weight: 3 });
    expect(await limits('email', 'free-1')).toEqual({});
    expect(await limits('report', 'tenant-42')).toEqual({ maxRunning: 10 });
  } finally {
    await app.close();
    process.env.REDIS_URL = before;
  }
});
