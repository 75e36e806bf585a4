// A job that kills its worker, among others that do nothing wrong.
import { expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { JobQueue } from '#queue/job-queue.js';
import { eventually } from '../../support/faults/wait.js';
import { WorkerProcess } from '../../support/worker/worker-process.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { newQueue } from '../../support/worker/workers.js';
import { inside } from '../../support/queue/inside.js';

const INNOCENTS = 20;

/**
 * Loads the script of a completion. Otherwise the server would ask for its text, which a dead worker cannot send.
 */
async function teachComplete(queue: JobQueue): Promise<void> {
  await queue.enqueue('warm');
  await queue.complete((await queue.claim())!);
}

it.each([
  ['', {}],
  [', through a client that sends other commands later', { redisOptions: { enableAutoPipelining: true } }],
  [
    ', through a client that sends all later',
    { redisOptions: { enableAutoPipelining: true }, foreignClient: true },
  ],
])(
  'a job that kills its worker and was claimed ahead is charged; the job before it is completed, those behind it had not started%s',
  async (_, client) => {
    const queue = newQueue();
    await teachComplete(queue);
    const payloads = ['first', 'poison', 'behind', 'behind'];
    const handles = await queue.enqueueMany(payloads.map((payload) => ({ payload })));
    const worker = await WorkerProcess.start({
      queue: queue.name,
      slots: { concurrency: 1, prefetch: payloads.length - 1 },
      workerOptions: { sweepIntervalMs: 0 },
      workMs: 1,
      ...client,
    });
    await eventually(() => worker.isDead);
    const { keys } = await inside(queue).scripts();
    const redis = inside(queue).connection.client as Redis;
    for (const { id } of handles) await redis.zadd(keys.claims, 'XX', 1, id);
    await queue.reclaim();
    const [first, poison, ...behind] = await Promise.all(handles.map(({ id }) => queue.get(id)));
    expect(first).toMatchObject({ status: 'completed', attempts: 1 });
    expect(poison).toMatchObject({ status: 'pending', attempts: 1, crashes: 1 });
    const untouched = { status: 'pending', attempts: 0, crashes: 0, interruptions: 1 };
    expect(behind).toMatchObject([untouched, untouched]);
  },
);

it('a job that kills its worker each time is a dead letter in the end, and all that ran beside it are completed', async () => {
  const queue = newQueue({ visibilityMs: 1_000 });
  const handles = await queue.enqueueMany(
    Array.from({ length: INNOCENTS + 1 }, (_, i) => ({ payload: i === 7 ? 'poison' : i })),
  );
  const hasEnded = async () => {
    const { completed, failed } = await queue.stats();
    return completed + failed === INNOCENTS + 1;
  };
  let deaths = 0;
  while (!(await hasEnded())) {
    const worker = await WorkerProcess.start({
      queue: queue.name,
      queueOptions: { visibilityMs: queue.options.visibilityMs },
      workerOptions: { sweepIntervalMs: 200 },
      workMs: 50,
    });
    await eventually(async () => worker.isDead || (await hasEnded()), { timeoutMs: 20_000 });
    deaths += worker.isDead ? 1 : 0;
  }
  const [poison] = await queue.list('failed');
  expect(poison).toMatchObject({ id: handles[7]!.id, crashes: 3 });
  expect(poison!.lastError).toContain('its worker died 3 times while it ran (maxCrashes 3)');
  const innocents = await queue.list('completed', { limit: 100 });
  expect(innocents).toHaveLength(INNOCENTS);
  expect(Math.max(...innocents.map(({ crashes }) => crashes))).toBe(2);
  // Isolated jobs follow each other at once. If one of them was not the first, its first death there is no crash of it.
  expect(deaths).toBe(4);
}, 60_000);

it('a job of a limit with a key that kills its worker at its start is a dead letter in the end', async () => {
  const limit = uniqueQueueName('crm');
  const options = { visibilityMs: 1_000, limits: [{ limit, key: 'group' as const }] };
  const queue = newQueue(options);
  const [poison, beside] = await queue.enqueueMany([
    { payload: 'poison', group: 'acme' },
    { payload: 'beside', group: 'bolt' },
  ]);
  const hasEnded = async () => {
    const { completed, failed } = await queue.stats();
    return completed + failed === 2;
  };
  let deaths = 0;
  while (deaths < 10 && !(await hasEnded())) {
    const worker = await WorkerProcess.start({
      queue: queue.name,
      queueOptions: options,
      workerOptions: { sweepIntervalMs: 200, limits: { [limit]: { maxRunning: 4 } } },
      workMs: 50,
    });
    await eventually(async () => worker.isDead || (await hasEnded()), { timeoutMs: 30_000 });
    deaths += worker.isDead ? 1 : 0;
  }
  expect(deaths).toBeLessThan(5);
  expect(await queue.get(poison!.id)).toMatchObject({ status: 'failed', crashes: 3 });
  expect(await queue.get(beside!.id)).toMatchObject({ status: 'completed' });
}, 120_000);
