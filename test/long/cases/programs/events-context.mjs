// Three requests of different tenants subscribe to the events of a queue. Each listener runs in the context of its own request.
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { EventEmitter, once } from 'node:events';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobHandler, JobQueueModule, JobQueueService } from 'nest-job-queue';

const tenant = new AsyncLocalStorage();
const name = `case-events-context-${process.pid}`;
class Work {
  async handle(job) {
    await job.progress(50);
  }
}
JobHandler(name)(Work);
class App {}
Module({ imports: [JobQueueModule.forRoot()], providers: [Work] })(App);
const app = await NestFactory.createApplicationContext(App, { logger: false });
const jobs = app.get(JobQueueService);

const TENANTS = ['A', 'B', 'C'];
const saw = Object.fromEntries(TENANTS.map((each) => [each, new Set()]));
const heard = new EventEmitter();
for (const each of TENANTS) {
  tenant.run(each, () =>
    jobs.events.where({ queue: name }).subscribe(({ status }) => {
      saw[each].add(tenant.getStore());
      heard.emit(`${each} ${status}`);
    }),
  );
}
const completed = Promise.all(TENANTS.map((each) => once(heard, `${each} completed`)));
const again = setInterval(() => void jobs.enqueue(name, {}), 100); // an event before the subscription is missed
await completed;
clearInterval(again);
for (const each of TENANTS) assert.deepEqual([each, ...saw[each]], [each, each]);
await jobs.queue(name).purge({ confirm: name });
await app.close();
