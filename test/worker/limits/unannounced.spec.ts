// A worker whose limits Redis does not know takes nothing until it has announced them.
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { QueueLimits } from '#queue/model/limits.js';
import type { JobQueue } from '#queue/job-queue.js';
import { PASSING_FAULTS, refuse } from '../../support/faults/refusing-server.js';
import { eventually, gate } from '../../support/faults/wait.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';
import { idle, namedConnection, newQueue, TestWorker } from '../../support/worker/workers.js';

const RATE = { rateLimit: { limit: 2, periodMs: 3_600_000, burst: 2 } };
const LIMITS: Record<string, QueueLimits> = {
  maxRunning: { maxRunning: 2 },
  rateLimit: RATE,
  'groups.maxRunning': { groups: { maxRunning: 2 } },
  'groups.rateLimit': { groups: RATE },
};
const ALLOWED = 2;
const JOBS = 8;

let url: string;
let boss: Redis;
beforeAll(async () => {
  ({ url } = await startOwnRedis());
  boss = connect({}, url);
});

async function limitedQueue(limits: QueueLimits): Promise<{ queue: JobQueue; client: Redis }> {
  const client = namedConnection({ maxRetriesPerRequest: null, retryStrategy: () => 20 }, url);
  client.on('error', () => undefined);
  const queue = newQueue(limits, client);
  await queue.stats(); // connected, and the server is known
  return { queue, client };
}

const enqueue = (queue: JobQueue) =>
  newQueue({}, boss, queue.name).enqueueMany(
    Array.from({ length: JOBS }, (_, payload) => ({ payload, group: queue.options.groups && 'g' })),
  );

/** Makes a worker with room for all jobs, whose handlers end when the test says so. */
function workerOf(queue: JobQueue) {
  const end = gate();
  const handlers = { [queue.name]: () => end.promise };
  const tested = new TestWorker([{ queue, concurrency: JOBS, handlers }], {});
  return { tested, worker: tested.worker, end: () => end.open() };
}

/** Waits until the worker has taken what it may, and counts the jobs that run at once. */
async function runningOf({ tested }: ReturnType<typeof workerOf>, queue: JobQueue): Promise<number> {
  await tested.event('started', ALLOWED);
  await queue.limits.get(); // a claim for the other slots has been answered by now
  await eventually(async () => (await queue.stats()).processing >= ALLOWED);
  return tested.count('started');
}

const cases = PASSING_FAULTS.flatMap((fault) =>
  Object.entries(LIMITS).map(([name, limits]) => [fault.reply, name, fault, limits] as const),
);

it.each(cases)(
  'a worker that starts while the server replies %s waits, and then obeys its limit %s',
  async (reply, _, fault, limits) => {
    const { queue, client } = await limitedQueue(limits);
    await enqueue(queue);
    const made = workerOf(queue);
    await fault.begin(boss, client);
    const started = made.worker.start();
    try {
      await eventually(() => made.worker.trouble?.message.includes(reply));
      expect(made.tested.warnings).toEqual([expect.stringContaining(reply)]);
    } finally {
      await fault.end(boss, client);
    }
    await started;
    expect(await runningOf(made, queue)).toBe(ALLOWED);
    expect(made.worker.trouble).toBeUndefined();
    made.end();
  },
);

describe('a worker whose server has lost its data', () => {
  it.each(Object.entries(LIMITS))('announces its limit %s before it claims', async (_, limits) => {
    const { queue } = await limitedQueue(limits);
    const made = workerOf(queue);
    await made.worker.start();
    await boss.flushall();
    await enqueue(queue);
    expect(await runningOf(made, queue)).toBe(ALLOWED);
    made.end();
  });

  it.each(cases)(
    'takes nothing while its server replies %s, and then obeys its limit %s',
    async (reply, _, __, limits) => {
      const { queue, client } = await limitedQueue(limits);
      const made = workerOf(queue);
      await made.worker.start();
      await idle(client);
      const heal = refuse(client, reply); // the connection that waits for jobs claims meanwhile
      await boss.flushall();
      await enqueue(queue);
      await eventually(() => made.worker.trouble?.message.includes(reply));
      expect(made.tested.count('started')).toBe(0);
      heal();
      expect(await runningOf(made, queue)).toBe(ALLOWED);
      made.end();
    },
  );
});
