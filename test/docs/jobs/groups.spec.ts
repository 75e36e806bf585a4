// The example of docs/groups.md, as it stands there.
import { expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
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
