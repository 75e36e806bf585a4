// A mailing of 5,000 is cancelled while its queue is paused, limited by a rate, or has one busy slot. All waiting members
// end within seconds, and the follow-up comes.
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobHandler, JobQueueModule, JobQueueService } from 'nest-job-queue';

const WAYS = {
  paused: { concurrency: 1 },
  rate: { rateLimit: { limit: 1, periodMs: 600_000 } },
  busy: { concurrency: 1 },
};
for (const [how, options] of Object.entries(WAYS)) {
  const [mail, report] = ['mail', 'report'].map((name) => `case-${how}-${name}-${process.pid}`);
  class Mail {
    handle({ signal }) {
      return how === 'busy' ? sleep(300_000, undefined, { signal, ref: false }) : sleep(10);
    }
  }
  JobHandler(mail, options)(Mail);
  class Report {
    handle() {}
  }
  JobHandler(report)(Report);
  class App {}
  Module({ imports: [JobQueueModule.forRoot({ shutdownTimeoutMs: 100 })], providers: [Mail, Report] })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  const jobs = app.get(JobQueueService);
  if (how === 'paused') await jobs.pause(mail);
  const batch = jobs.batch({ finally: { name: report } });
  for (let i = 0; i < 5; i++) {
    await batch.addMany(
      mail,
      Array.from({ length: 1_000 }, () => ({ payload: {} })),
    );
  }
  await batch.seal();
  await batch.cancel();
  const { open, cancelled, completed, failed } = await batch.wait({ timeoutMs: 15_000 });
  assert.deepEqual({ how, open, all: cancelled + completed + failed }, { how, open: 0, all: 5_000 });
  assert.ok(cancelled > 4_000, `${how}: ${cancelled} were cancelled`);
  for (const name of [mail, report]) await jobs.queue(name).purge({ confirm: name });
  await app.close();
}
