// A log line that is too long ends in the middle of an emoji. What is stored has no half of a character.
import assert from 'node:assert/strict';
import { Redis } from 'ioredis';
import { JobQueue, Worker } from 'nest-job-queue/core';

const redis = new Redis(process.env.REDIS_URL);
const queue = new JobQueue(redis, `case-emoji-${process.pid}`);
const worker = new Worker([{ queue, handlers: { log: (job) => job.log(`${'x'.repeat(999)}😀 end`) } }]);
await worker.start();
const job = await queue.enqueue({}, { name: 'log' });
await job.result();
const [line] = (await job.get()).log;
assert.equal(line.message, 'x'.repeat(999));

await worker.stop();
await queue.purge({ confirm: queue.name });
queue.close();
redis.disconnect();
