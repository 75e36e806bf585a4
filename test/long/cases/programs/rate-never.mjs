// Rates and costs that arithmetic in doubles rounded to no start at all. Reported as queues that took no job, while the
// doctor found all well.
import assert from 'node:assert/strict';
import { Redis } from 'ioredis';
import { JobQueue, Worker } from 'nest-job-queue/core';

const redis = new Redis(process.env.REDIS_URL, { maxRetriesPerRequest: null });
/** Each with the cost of its first job. */
const rates = [
  [{ limit: 30, periodMs: 1_000 }, 1],
  [{ limit: 75, periodMs: 1_000 }, 1],
  [{ limit: 300, periodMs: 1_000 }, 1],
  [{ limit: 669, periodMs: 60_000 }, 1],
  [{ limit: 10, periodMs: 1_000 }, 1],
  [{ limit: 15, periodMs: 1_000, burst: 2 }, 2],
  [{ limit: 14, periodMs: 1_000, burst: 5 }, 5],
  [{ limit: 23, periodMs: 1_000, burst: 10 }, 10],
  [{ limit: 133, periodMs: 333, burst: 31 }, 31],
];
const ran = rates.map(() => 0);
const served = rates.map(([rateLimit], i) => {
  const name = `rate-never-${process.pid}-${i}`;
  return { queue: new JobQueue(redis, name, { rateLimit }), handlers: { [name]: () => void ran[i]++ } };
});
const worker = new Worker(served);
await worker.start();
for (const [i, { queue }] of served.entries()) {
  await queue.enqueue({}, { cost: rates[i][1] });
  await queue.enqueueMany([1, 2, 3].map((payload) => ({ payload })));
}
const deadline = Date.now() + 20_000;
while (ran.some((count) => count < 4) && Date.now() < deadline) {
  await new Promise((resolve) => setTimeout(resolve, 20));
}
assert.deepEqual(
  ran,
  rates.map(() => 4),
);
await worker.stop();
for (const { queue } of served) await queue.purge({ confirm: queue.name });
redis.disconnect();
