// A program that scripts/check/check-package.mjs bundles and minifies, so that no class has its name. Errors of the library keep theirs:
// by themselves, and in what a failed job stores.
import assert from 'node:assert/strict';
import { Redis } from 'ioredis';
import * as core from 'nest-job-queue/core';

const { JobQueue, JobQueueError, NonRetryableError, Worker } = core;
const errors = Object.entries(core).filter(([, type]) => type.prototype instanceof JobQueueError);
assert.ok(errors.length > 25);
assert.notEqual(
  NonRetryableError.name,
  'NonRetryableError',
  'the bundler left the names of classes: the check sees nothing',
);
for (const [name, type] of errors) assert.equal(Reflect.construct(JobQueueError, ['a reason'], type).name, name);

const redis = new Redis(process.env.REDIS_URL, { maxRetriesPerRequest: null });
const queue = new JobQueue(redis, `bundled-${process.pid}`);
const failing = () => {
  throw new NonRetryableError('no such user');
};
const worker = new Worker([{ queue, handlers: { [queue.name]: failing } }], { logFailures: false });
await worker.start();
const job = await queue.enqueue({});
await assert.rejects(job.result({ timeoutMs: 20_000 }));
await worker.stop();
const { attemptLog, errorKind } = await queue.get(job.id);
assert.match(JSON.stringify(attemptLog), /NonRetryableError/);
assert.ok(errorKind);
await queue.purge({ confirm: queue.name });
queue.close();
redis.disconnect();
console.log('bundled: the errors keep their names');
