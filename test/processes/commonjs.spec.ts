// runWorkers and threads from the library's CommonJS build, in an app that is CommonJS. From TypeScript: run-workers.spec.ts; from the
// ES build: the examples of test/e2e.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from '@jest/globals';
import { JobQueue } from 'nest-job-queue';
import { connect, testRedisUrl, uniqueQueueName } from '../support/redis.js';
import { startProcess } from '../support/shop.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
mkdirSync(join(root, '.cache'), { recursive: true });
// Inside of the project, where its packages are found.
const folder = mkdtempSync(join(root, '.cache', 'commonjs-'));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ENTRY = `
const { Module } = require('@nestjs/common');
const { JobHandler, JobQueueModule, runWorkers } = require('./library');

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
  const tsc = ['-p', 'tsconfig.cjs.json', '--noCheck', '--outDir', join(folder, 'library')];
  execFileSync(join(root, 'node_modules/.bin/tsc'), tsc, { cwd: root, stdio: 'inherit' });
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }');
  writeFileSync(join(folder, 'worker.js'), ENTRY);
  // Not compiled: see scripts/mark-cjs.mjs.
  copyFileSync(join(root, 'src/worker/thread-entry.cjs'), join(folder, 'library/worker/thread-entry.cjs'));
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
