// The clocks of Nuuk skip the last hour of a Saturday. A job of that hour runs at the first moment after it.
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { Test } from '@nestjs/testing';
import { JobHandler, RecurringJob } from 'nest-job-queue';
import { JobQueueTesting, JobQueueTestingModule } from 'nest-job-queue/testing';

const ran = [];
class Weekly {
  handle(job) {
    ran.push(new Date(Number(job.id.split(':').at(-1))).toISOString());
  }
}
RecurringJob({ cron: '45 23 * * 6', timeZone: 'America/Nuuk' })(Weekly);
JobHandler('weekly')(Weekly);

const app = await Test.createTestingModule({
  imports: [JobQueueTestingModule.forTest({}, { now: new Date('2027-03-27T12:00:00Z') })],
  providers: [Weekly],
}).compile();
await app.init();
await app.get(JobQueueTesting).advance(86_400_000);
assert.deepEqual(ran, ['2027-03-28T01:00:00.000Z']);
await app.close();
