// The library's CommonJS build: runWorkers and threads in a CommonJS app, and beside an ES module copy in one app.
// TypeScript: run-workers.spec.ts. ES build: the examples of test/e2e.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { defineHandler, JobHandler, JobQueue, NonRetryableError, type Job } from 'nest-job-queue';
import { z } from 'zod';
import { handlerRecords } from '#nest/handlers/job-handler.decorator.js';
import type * as defineJobModule from '#queue/enqueue/define-job.js';
import type * as errorsModule from '#queue/errors/errors.js';
import { connect, testRedisUrl, uniqueQueueName } from '../../support/redis/redis.js';
import { startProcess } from '../../support/browser/shop.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
mkdirSync(join(root, '.cache'), { recursive: true });
// Inside of the project, where its packages are found.
const folder = mkdtempSync(join(root, '.cache', 'commonjs-'));

beforeAll(() => {
  const tsc = [
    '-p',
    'tsconfig.build.json',
    '--module',
    'commonjs',
    '--moduleResolution',
    'bundler',
    '--noCheck',
    '--outDir',
    join(folder, 'library'),
  ];
  execFileSync(join(root, 'node_modules/.bin/tsc'), tsc, { cwd: root, stdio: 'inherit' });
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }');
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ENTRY = `
const { Module } = require('@nestjs/common');
const { JobHandler, JobQueueModule } = require('./library');
const { runWorkers } = require('./library/workers');

class Handler {
  handle(job) {
    return { got: job.payload, in: typeof require };
  }
}
JobHandler(process.env.TEST_QUEUE)(Handler);

class ThreadHandler {}
JobHandler(process.env.TEST_QUEUE + '-thread', { thread: require.resolve('./thread') })(ThreadHandler);

class AppModule {}
Module({ imports: [JobQueueModule.forRoot()], providers: [Handler, ThreadHandler] })(AppModule);

runWorkers(AppModule, { processes: 2 }).then((workers) => console.log('ready: ' + workers.status().length));
`;

const THREAD = `
const { isMainThread } = require('node:worker_threads');
module.exports = (job) => ({ got: job.payload, isMainThread });
`;

it('the CommonJS build runs the handlers of a CommonJS app in processes and threads', async () => {
  writeFileSync(join(folder, 'worker.js'), ENTRY);
  // Not compiled: see scripts/build/bundle.mjs.
  for (const file of ['thread-entry.cjs', 'thread-values.generated.cjs']) {
    copyFileSync(join(root, 'src/worker/threads', file), join(folder, 'library/worker/threads', file));
  }
  writeFileSync(join(folder, 'thread.js'), THREAD);
  const queue = new JobQueue(connect(), uniqueQueueName());
  const env = { REDIS_URL: testRedisUrl(), TEST_QUEUE: queue.name };
  const supervisor = startProcess('node', [join(folder, 'worker.js')], env);
  await supervisor.prints(/^ready: 2$/m);
  const job = await queue.enqueue('this');
  expect(await job.result({ timeoutMs: 40_000 })).toEqual({ got: 'this', in: 'function' });
  const threads = new JobQueue(connect(), `${queue.name}-thread`);
  const inThread = await threads.enqueue('that');
  expect(await inThread.result({ timeoutMs: 40_000 })).toEqual({ got: 'that', isMainThread: false });
  queue.close();
  threads.close();
  expect(await supervisor.kill('SIGTERM')).toBe(0);
}, 120_000);

describe('an object of the CommonJS copy is known by the ES one:', () => {
  const load = createRequire(import.meta.url);
  const errors = () => load(join(folder, 'library/queue/errors/errors.js')) as typeof errorsModule;
  const definitions = () => load(join(folder, 'library/queue/enqueue/define-job.js')) as typeof defineJobModule;

  it('a NonRetryableError ends the job at once, also one of a class that extends it', async () => {
    const { NonRetryableError: Foreign } = errors();
    class Stolen extends Foreign {}
    expect(Foreign).not.toBe(NonRetryableError);
    const queue = newQueue({ maxAttempts: 5 });
    const jobs = await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
    const worker = await startWorker(queue, (job: Job<number>) => {
      throw job.payload === 1 ? new Foreign('stolen') : new Stolen('stolen');
    });
    await worker.event('failed', 2);
    for (const { id } of jobs) {
      expect(await queue.get(id)).toMatchObject({ status: 'failed', attempts: 1, lastError: 'stolen' });
    }
  });

  it('a RetryLaterError brings the job back without having used an attempt', async () => {
    const { RetryLaterError: Foreign } = errors();
    const queue = newQueue({ maxAttempts: 1 });
    const { id } = await queue.enqueue({});
    const worker = await startWorker(queue, () => {
      throw new Foreign(60_000);
    });
    await worker.event('released');
    expect(await queue.get(id)).toMatchObject({ status: 'scheduled', attempts: 0, errors: 0 });
  });

  it('a definition is one for enqueue, defineHandler, redrive and @JobHandler', async () => {
    const Foreign = definitions().defineJob('mail', { payload: z.object({ to: z.email() }), maxAttempts: 1 });
    const queue = newQueue();
    const refused = { name: 'InvalidPayloadError', path: 'payload.to' };
    await expect(queue.enqueue(Foreign, { to: 'nobody' })).rejects.toMatchObject(refused);
    const handler = defineHandler(Foreign, (job) => {
      if (job.payload.to === 'ada@example.com') throw new Error('no such user');
      return `to ${job.payload.to}`;
    });
    const worker = await startWorker([{ queue, handlers: { mail: handler } }]);
    const job = await queue.enqueue(Foreign, { to: 'ada@example.com' });
    await worker.event('failed');
    await expect(queue.deadLetters.redrive(Foreign, job.id, { payload: { to: '' } })).rejects.toMatchObject(
      refused,
    );
    expect(await queue.deadLetters.redrive(Foreign, job.id, { payload: { to: 'bob@example.com' } })).toBe(true);
    expect(await job.result()).toBe('to bob@example.com');

    @JobHandler(Foreign)
    class Mail {
      handle(each: Job<{ to: string }>) {
        return each.payload.to;
      }
    }
    expect(handlerRecords(Mail)).toMatchObject([{ name: 'mail', definition: Foreign }]);
  });
});
