// A program without Nest that installed the package and ioredis (run by scripts/check-package.mjs). It runs jobs, and
// finds no package of Nest.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { Redis } from 'ioredis';
import { JobQueue, Worker } from 'nest-job-queue/core';

assert.ok(!existsSync('node_modules/@nestjs') && !existsSync('node_modules/reflect-metadata'));

const redis = new Redis(process.env.REDIS_URL, { maxRetriesPerRequest: null });
const queue = new JobQueue(redis, `core-${process.pid}`);
const worker = new Worker([{ queue, handlers: { [queue.name]: (job) => `Hello ${job.payload.to}` } }]);
await worker.start();
const job = await queue.enqueue({ to: 'Ada' });
assert.equal(await job.result({ timeoutMs: 20_000 }), 'Hello Ada');
await worker.stop();
await queue.purge({ confirm: queue.name });
queue.close();
redis.disconnect();
console.log('core: a job was done without Nest');
