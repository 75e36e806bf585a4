// A handler gives its signal to many calls, and a caller waits for many results by one signal. Node warns of no leak.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { JobQueue, Worker } from 'nest-job-queue/core';

const warnings = [];
process.on('warning', (warning) => warnings.push(warning.message));
const redis = new Redis(process.env.REDIS_URL);
const queue = new JobQueue(redis, `case-${randomUUID()}`);
const uses = ({ signal }) => Promise.all(Array.from({ length: 11 }, () => sleep(1, undefined, { signal })));
const worker = new Worker([
  { queue, concurrency: 50, handlers: { [queue.name]: async (job) => (await uses(job)).length } },
]);
await worker.start();
const jobs = await queue.enqueueMany(Array.from({ length: 500 }, () => ({ payload: {} })));
const { signal } = new AbortController();
const results = await Promise.all(jobs.map((job) => job.result({ signal })));
assert.deepEqual(new Set(results), new Set([11]));
await worker.stop();
assert.deepEqual(warnings, []);
await queue.purge({ confirm: queue.name });
queue.close();
await redis.quit();
