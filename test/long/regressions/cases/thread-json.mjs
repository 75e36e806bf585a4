// Results and checkpoints with a toJSON, in the process and in a thread.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobHandler, JobQueueModule, JobQueueService } from 'nest-job-queue';
import work from './work.mjs';

class InThread {}
JobHandler('thread', { thread: new URL('./work.mjs', import.meta.url) })(InThread);
class InProcess {
  handle(job) {
    return work(job);
  }
}
JobHandler('process')(InProcess);
class App {}
Module({ imports: [JobQueueModule.forRoot()], providers: [InThread, InProcess] })(App);
const app = await NestFactory.createApplicationContext(App, { logger: false });
const jobs = app.get(JobQueueService);
for (const name of ['process', 'thread']) {
  const job = await jobs.enqueue(name, {});
  console.log(JSON.stringify([await job.result(), (await job.get()).checkpoint]));
}
await app.close();
