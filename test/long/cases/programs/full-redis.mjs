// A Redis that is full, with a backlog. Handlers that report their progress complete all of it, and those that enqueue
// more jobs fail none.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { JobQueue, Worker } from 'nest-job-queue/core';
import { startRedisServer } from '../../../../scripts/redis/redis-server.mjs';

const HANDLERS = {
  'await progress': (job) => job.progress(50),
  'await log': (job) => job.log('x'),
  checkpoint: (job) => job.checkpoint(1),
  step: (job) => job.step('one', () => 1),
  enqueue: (_, next) => next.enqueue({}),
};
const logger = { log() {}, warn() {}, error() {} };

for (const [how, handle] of Object.entries(HANDLERS)) {
  const server = await startRedisServer({ quiet: true });
  const redis = new Redis(server.url);
  await redis.config('SET', 'maxmemory', '8mb', 'maxmemory-policy', 'noeviction');
  const queue = new JobQueue(redis, 'work', { maxAttempts: 2, backoff: 50 });
  const next = new JobQueue(redis, 'next');
  const payload = 'y'.repeat(3_000);
  let waiting = 0;
  await assert.rejects(
    async () => {
      for (;;) waiting += (await queue.enqueueMany(Array.from({ length: 100 }, () => ({ payload })))).length;
    },
    { name: 'RedisOutOfMemoryError' },
  );
  const handlers = { work: (job) => handle(job, next) };
  const worker = new Worker([{ queue, concurrency: 20, handlers }], { logger, logFailures: false });
  await worker.start();
  let stats = await queue.stats();
  for (let i = 0; i < 40 && stats.pending + stats.processing > 0; i++) {
    await sleep(250);
    stats = await queue.stats();
    // Records of ended jobs make no room while they are kept, so an operator helps.
    if (how === 'enqueue' && i === 8) await redis.config('SET', 'maxmemory', '64mb');
  }
  assert.equal(stats.failed, 0, `${how}: ${stats.failed} jobs are dead letters`);
  assert.equal(stats.totals.completed, waiting, `${how}: ${stats.totals.completed} of ${waiting} jobs completed`);
  await worker.stop({ timeoutMs: 1_000 });
  queue.close();
  next.close();
  redis.disconnect();
  await server.stop();
}
