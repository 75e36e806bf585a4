// A webhook brings an event twice, 15 s apart, and 1,100 others end in between. Its job runs once.
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { awaitAll, JobHandler, JobQueueModule, JobQueueService } from 'nest-job-queue';

const name = `case-ids-${process.pid}`;
const ran = [];

class Received {
  handle({ id }) {
    ran.push(id);
  }
}
JobHandler(name)(Received);

class App {}
Module({ imports: [JobQueueModule.forRoot()], providers: [Received] })(App);

const app = await NestFactory.createApplicationContext(App, { logger: false });
const jobs = app.get(JobQueueService);
const event = () => jobs.enqueue(name, { id: 'evt_1' }, { id: 'evt_1' });
await (await event()).result();
assert.equal((await event()).outcome, 'existing');
const others = Array.from({ length: 1_100 }, (_, i) => ({ payload: {}, id: `evt_other_${i}` }));
await awaitAll(await jobs.enqueueMany(name, others), { timeoutMs: 30_000 });
await sleep(15_000);
assert.equal(await jobs.get(name, 'evt_1'), null, 'its record is gone by now');
assert.equal((await event()).outcome, 'existing');
await sleep(200);
assert.equal(ran.filter((id) => id === 'evt_1').length, 1);
await jobs.queue(name).purge({ confirm: name });
await app.close();
