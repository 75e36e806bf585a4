// A bound of each group in the code of a producer, before any worker of the queue ran. It was ignored until then.
import assert from 'node:assert/strict';
import { Redis } from 'ioredis';
import { JobQueue, QueueFullError } from 'nest-job-queue/core';

const redis = new Redis(process.env.REDIS_URL, { maxRetriesPerRequest: null });
for (const [options, taken] of [
  [{ maxPending: 5 }, 5],
  [{ groups: { maxPending: 5 } }, 5],
  [{ groups: { maxPendingBytes: 60 } }, 5],
  [{ groups: { overrides: { g: { maxPending: 5 } } } }, 5],
  [{ groups: { maxPending: 5, overrides: { g: { maxPending: 7 } } } }, 7],
]) {
  const queue = new JobQueue(redis, `group-pending-${process.pid}-${JSON.stringify(options).length}`, options);
  let count = 0;
  try {
    for (; count < 50; count++) await queue.enqueue({ n: 'xxxx' }, { group: 'g' });
  } catch (error) {
    assert.ok(error instanceof QueueFullError, error);
  }
  assert.equal(count, taken, JSON.stringify(options));
  await queue.purge({ confirm: queue.name });
}
redis.disconnect();
