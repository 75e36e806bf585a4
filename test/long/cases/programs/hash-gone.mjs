// The hash of a job is deleted by hand, and its id enqueued again with a delay. The job runs once, when it is due.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { JobQueue } from 'nest-job-queue/core';

const redis = new Redis(process.env.REDIS_URL);
const queue = new JobQueue(redis, `case-gone-${process.pid}`);
await queue.enqueue({ n: 1 }, { id: 'X' });
await redis.del(`queue:${queue.name}:job:X`);
const again = await queue.enqueue({ n: 2 }, { id: 'X', delayMs: 700 });
assert.equal(again.outcome, 'new');
assert.deepEqual(await queue.claimMany(1), [], 'it does not run before it is due');
await sleep(750);
const claims = await queue.claimMany(10);
assert.deepEqual(
  claims.map(({ payload }) => payload),
  [{ n: 2 }],
);
await queue.complete(claims[0], 1);
assert.deepEqual(await queue.claimMany(10), [], 'it runs once');
assert.equal((await queue.get('X')).attempts, 1);
await queue.purge({ confirm: queue.name });
queue.close();
redis.disconnect();
