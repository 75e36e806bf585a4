// A fixed time in the gap of America/Nuuk, which skips the last hour of a Saturday in March.
import 'reflect-metadata';
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
const now = new Date('2027-03-19T12:00:00Z');
const app = await Test.createTestingModule({
  imports: [JobQueueTestingModule.forTest({}, { now })],
  providers: [Weekly],
}).compile();
await app.init();
await app.get(JobQueueTesting).advance(18 * 86_400_000);
console.log(JSON.stringify(ran));
await app.close();
