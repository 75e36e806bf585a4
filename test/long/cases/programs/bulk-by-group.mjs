// A bulk handler by group, and more groups than fit into a claim. Each call waited `waitMs` for jobs that nobody claimed: 13
// of 2,000 ran in 6 s, in calls of one.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { JobQueue, Worker } from 'nest-job-queue/core';

const redis = new Redis(process.env.REDIS_URL, { maxRetriesPerRequest: null });
for (const [size, waitMs, groups, concurrency] of [
  [3, 1_000, 7, 1],
  [10, 1_000, 50, 2],
  [10, undefined, 50, 2],
]) {
  const calls = [];
  const name = `bulk-by-group-${process.pid}-${size}-${waitMs}`;
  const queue = new JobQueue(redis, name);
  await queue.enqueueMany(Array.from({ length: 1_000 }, (_, i) => ({ payload: i, group: `g${i % groups}` })));
  const bulk = { size, by: 'group', ...(waitMs !== undefined && { waitMs }) };
  const handle = (jobs) => {
    assert.equal(new Set(jobs.map(({ group }) => group)).size, 1);
    calls.push(jobs.length);
  };
  const worker = new Worker([{ queue, concurrency, handlers: { [name]: { bulk, handle } } }]);
  await worker.start();
  const ran = () => calls.reduce((sum, length) => sum + length, 0);
  for (const end = Date.now() + 15_000; ran() < 1_000 && Date.now() < end;) await sleep(20);
  assert.equal(ran(), 1_000);
  assert.ok(calls.length < (2 * 1_000) / size, `${calls.length} calls of up to ${size} jobs`);
  await worker.stop();
  await queue.purge({ confirm: name });
}
redis.disconnect();
