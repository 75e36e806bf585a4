// A limit that queues share, while worker processes are killed.
import { expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { SharedLimit } from '#queue/operate/shared-limit.js';
import { eventually, sleep } from '../../support/faults/wait.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { WorkerProcess } from '../../support/worker/worker-process.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';

const VISIBILITY_MS = 1_500;
const SWEEP_MS = 500;
const MOST = 4;
const KILLS = 4;
/** The jobs of each queue before each kill. */
const JOBS = 40;
/** How long a permit outlives its claim. */
const GRACE_MS = 6_000;

const many = (count: number, limit?: string) =>
  Array.from({ length: count }, (_, payload) => ({
    payload,
    ...(limit !== undefined && payload % 4 > 0 && { limitCosts: { [limit]: payload % 4 } }),
  }));

it('is never exceeded, and no permit is lost, whenever processes of several queues are killed', async () => {
  const limit = uniqueQueueName();
  const limits = { [limit]: { maxRunning: MOST, rateLimit: { limit: 10_000, periodMs: 1_000, burst: 100 } } };
  const options = { visibilityMs: VISIBILITY_MS, limits: [limit], maxAttempts: 10, maxCrashes: 10 };
  const costs = [{ limit, cost: { default: 1, most: 3 } }];
  const queues = [newQueue(options), newQueue({ ...options, limits: costs })];
  const state = new SharedLimit(queues[0]!, limit);
  const seen: number[] = [];
  const over = new AbortController();
  const watch = async () => {
    while (!over.signal.aborted) {
      const { running } = await state.get();
      const claimed = await Promise.all(queues.map(async (queue) => (await queue.stats()).processing));
      seen.push(running, claimed[0]! + claimed[1]!);
      await sleep(20);
    }
  };

  const heirs = await Promise.all(
    queues.map((queue) => startWorker(queue, () => sleep(20), { limits, sweepIntervalMs: SWEEP_MS })),
  );
  const watched = watch().catch(() => undefined); // a test that has failed closes its connections
  for (let kills = 0; kills < KILLS; kills++) {
    const dying = await startProcess(queues[kills % 2]!, limits);
    await Promise.all(queues.map((queue, i) => queue.enqueueMany(many(JOBS, i === 1 ? limit : undefined))));
    await dying.event('started');
    await dying.signal('SIGKILL');
  }
  await eventually(
    async () => {
      const stats = await Promise.all(queues.map((queue) => queue.stats()));
      return stats.every(({ totals }) => totals.completed === KILLS * JOBS);
    },
    { timeoutMs: 60_000, everyMs: 100 },
  );
  over.abort();
  await watched;
  expect(Math.max(...seen)).toBeLessThanOrEqual(MOST);
  expect(heirs.map((heir) => heir.count('lost'))).toEqual([0, 0]);
  await eventually(async () => (await state.get()).running === 0, { timeoutMs: VISIBILITY_MS + GRACE_MS + 2_000 });
});

it('is never exceeded for a key, and no permit is lost, whenever processes of several queues are killed', async () => {
  const limit = uniqueQueueName();
  const limits = { [limit]: { maxRunning: 2 } };
  const uses = [{ limit, key: 'group' as const }];
  const options = { visibilityMs: VISIBILITY_MS, limits: uses, maxAttempts: 10, maxCrashes: 10 };
  const queues = [newQueue(options), newQueue(options)];
  const groups = ['acme', 'bolt', 'cog'];
  const keys = groups.map((group) => new SharedLimit(queues[0]!, limit).key(group));
  const seen: number[] = [];
  const over = new AbortController();
  const watch = async () => {
    while (!over.signal.aborted) {
      seen.push(...(await Promise.all(keys.map((key) => key.get()))).map(({ running }) => running));
      await sleep(20);
    }
  };
  const heirs = await Promise.all(
    queues.map((queue) => startWorker(queue, () => sleep(20), { limits, sweepIntervalMs: SWEEP_MS })),
  );
  const watched = watch().catch(() => undefined); // a test that has failed closes its connections
  for (let kills = 0; kills < KILLS; kills++) {
    const dying = await startProcess(queues[kills % 2]!, limits);
    const jobs = many(JOBS).map((job, i) => ({ ...job, group: groups[i % groups.length]! }));
    await Promise.all(queues.map((queue) => queue.enqueueMany(jobs)));
    await dying.event('started');
    await dying.signal('SIGKILL');
  }
  await eventually(
    async () => {
      const stats = await Promise.all(queues.map((queue) => queue.stats()));
      return stats.every(({ totals }) => totals.completed === KILLS * JOBS);
    },
    { timeoutMs: 90_000, everyMs: 100 },
  );
  over.abort();
  await watched;
  expect(Math.max(...seen)).toBeLessThanOrEqual(2);
  expect(heirs.map((heir) => heir.count('lost'))).toEqual([0, 0]);
  await eventually(
    async () => (await Promise.all(keys.map((key) => key.get()))).every(({ running }) => running === 0),
    {
      timeoutMs: VISIBILITY_MS + GRACE_MS + 2_000,
    },
  );
});

function startProcess(queue: JobQueue, limits: object): Promise<WorkerProcess> {
  return WorkerProcess.start({
    queue: queue.name,
    queueOptions: { visibilityMs: VISIBILITY_MS, limits: queue.options.limits },
    workerOptions: { sweepIntervalMs: SWEEP_MS, limits },
    workMs: 200,
  });
}
