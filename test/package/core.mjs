// A program without Nest that installed the package and ioredis (run by scripts/check/check-package.mjs). It runs jobs, and
// reads them by the command line. It finds no package of Nest, and none of OpenTelemetry, which only
// nest-job-queue/tracing needs.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Redis } from 'ioredis';
import { JobQueue, Worker } from 'nest-job-queue/core';
import { JobMetrics } from 'nest-job-queue/metrics';

const require = createRequire(import.meta.url);
for (const name of ['@nestjs', 'reflect-metadata', 'rxjs']) assert.ok(!existsSync(`node_modules/${name}`));
assert.ok(!existsSync('node_modules/@opentelemetry') && !existsSync('node_modules/prom-client'));
for (const { jobTracing } of [await import('nest-job-queue/tracing'), require('nest-job-queue/tracing')]) {
  assert.throws(() => jobTracing(), /npm install @opentelemetry\/api/);
}

const redis = new Redis(process.env.REDIS_URL, { maxRetriesPerRequest: null });
const queue = new JobQueue(redis, `core-${process.pid}`);
const handlers = { [queue.name]: (job) => `Hello ${job.payload.to}` };
const worker = new Worker([{ queue, handlers }], { onEvent: new JobMetrics({ queues: [queue] }).observe });
await worker.start();
const job = await queue.enqueue({ to: 'Ada' });
assert.equal(await job.result({ timeoutMs: 20_000 }), 'Hello Ada');
await worker.stop();
const shown = execFileSync(process.execPath, ['node_modules/.bin/nest-job-queue', 'show', queue.name, job.id], {
  encoding: 'utf8',
});
assert.match(shown, /completed/);
await queue.purge({ confirm: queue.name });
queue.close();
redis.disconnect();
console.log('core: a job was done without Nest');
