// The memory guard: how many bytes of Redis a plain job takes, with Redis's default settings. A number may only rise
// with a reason that its commit gives. `npm run bench -- --only memory` compares it with other queues.
import { beforeAll, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { JobQueue } from '#queue/job-queue.js';
import { Worker } from '#worker/worker.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';

const JOBS = 5_000;

let redis: Redis;

beforeAll(async () => {
  const server = await startOwnRedis();
  redis = connect({}, server.url);
  await bytesPerJob({}); // what the server keeps of any queue is there before it is measured
});

/** Returns the memory of all keys, without connection buffers and script texts, which are unrelated to jobs. */
async function memoryOfKeys(): Promise<number> {
  const text = await redis.info('memory');
  const field = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)![1]);
  return field('used_memory') - field('mem_clients_normal') - field('used_memory_scripts_eval');
}

/** Returns a payload with `bytes` bytes of JSON. */
function payloadOf(bytes: number): { to: string } {
  return { to: 'x'.repeat(bytes - JSON.stringify({ to: '' }).length) };
}

async function complete(queue: JobQueue): Promise<void> {
  let left = JOBS;
  let done!: () => void;
  const all = new Promise<void>((resolve) => (done = resolve));
  const handle = () => {
    if (--left === 0) done();
  };
  const worker = new Worker([{ queue, concurrency: 100, handlers: { [queue.name]: handle } }]);
  await worker.start();
  await all;
  await worker.stop();
}

async function bytesPerJob(payload: unknown): Promise<{ waiting: number; completed: number }> {
  const queue = new JobQueue(redis, 'email', { completedHistory: JOBS });
  await queue.purge({ confirm: 'email' });
  const empty = await memoryOfKeys();
  await queue.enqueueMany(Array.from({ length: JOBS }, () => ({ payload })));
  const waiting = (await memoryOfKeys()) - empty;
  await complete(queue);
  const completed = (await memoryOfKeys()) - empty;
  queue.close();
  return { waiting: waiting / JOBS, completed: completed / JOBS };
}

it.each([
  { payload: 40, waiting: 250, completed: 430 },
  { payload: 60, waiting: 280, completed: 430 },
  { payload: 200, waiting: 680, completed: 1_290 },
  { payload: 1_000, waiting: 1_480, completed: 2_080 },
])(
  'the bytes of Redis per job of $payload bytes of payload: at most $waiting while it waits, $completed once completed',
  async (most) => {
    const found = await bytesPerJob(payloadOf(most.payload));
    expect(found.waiting).toBeLessThanOrEqual(most.waiting);
    expect(found.completed).toBeLessThanOrEqual(most.completed);
  },
);
