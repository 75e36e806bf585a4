// A chain over two queues with 1,600 jobs. The first step is quick and the second slow. So results of the first have left the
// history long before they are read. Each second step finds its input.
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobHandler, JobQueueModule, JobQueueService } from 'nest-job-queue';

const [download, convert] = ['download', 'convert'].map((step) => `case-chain-${process.pid}-${step}`);
/** The first 600 results have left the history soon. After ten seconds their records would be gone. */
const [COUNT, LEFT] = [1_600, 450];
const failures = [];
let converted = 0;

class Download {
  handle({ payload }) {
    return { file: payload.url };
  }
}
JobHandler(download, { concurrency: 50 })(Download);

class Convert {
  constructor(jobs) {
    this.jobs = jobs;
  }

  async handle({ payload }) {
    try {
      const { file } = await this.jobs.result(download, payload.download);
      assert.equal(`${file}:download`, payload.download);
    } catch (error) {
      failures.push(error.message);
      throw error;
    }
    await sleep(60);
    converted++;
  }
}
JobHandler(convert, { concurrency: 2 })(Convert);
Inject(JobQueueService)(Convert, undefined, 0);

class App {}
Module({
  imports: [JobQueueModule.forRoot({ logFailures: false, shutdownTimeoutMs: 1_000 })],
  providers: [Download, Convert],
})(App);

const app = await NestFactory.createApplicationContext(App, { logger: false });
const jobs = app.get(JobQueueService);
const add = async (i) => {
  const first = await jobs.enqueue(download, { url: `v${i}` }, { id: `v${i}:download` });
  await jobs.enqueue(convert, { download: first.id }, { id: `v${i}:convert`, after: [first] });
};
for (let i = 0; i < COUNT; i += 100) {
  await Promise.all(Array.from({ length: 100 }, (_, k) => add(i + k)));
}
while (converted + failures.length < LEFT) {
  await sleep(500);
}
assert.deepEqual(failures, []);
for (const name of [download, convert]) {
  await jobs.queue(name).purge({ confirm: name });
}
await app.close();
