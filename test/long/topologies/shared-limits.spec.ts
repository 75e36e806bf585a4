// A limit that queues on several masters of a Cluster share.
import { expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { Worker } from '#worker/worker.js';
import { eventually, sleep } from '../../support/faults/wait.js';
import { startCluster } from '../../support/redis/own-cluster.js';

it('is exact over the masters, and every job runs', async () => {
  const cluster = await startCluster();
  const client = cluster.connect();
  const queues = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => new JobQueue(client, name, { limits: ['partner'] }));
  const seen = { running: 0, most: 0 };
  const handle = async () => {
    seen.most = Math.max(seen.most, ++seen.running);
    await sleep(5);
    seen.running--;
  };
  const limits = { partner: { maxRunning: 2 } };
  const workers = [0, 1].map(
    () =>
      new Worker(
        queues.map((queue) => ({ queue, handlers: { [queue.name]: handle } })),
        { limits },
      ),
  );
  await Promise.all(workers.map((worker) => worker.start()));
  await Promise.all(queues.map((queue) => queue.enqueueMany([1, 2, 3, 4, 5].map((payload) => ({ payload })))));
  const completed = async () => {
    const stats = await Promise.all(queues.map((queue) => queue.stats()));
    return stats.reduce((sum, { totals }) => sum + totals.completed!, 0);
  };
  await eventually(async () => (await completed()) === 30, { timeoutMs: 40_000, everyMs: 50 });
  expect(seen.most).toBe(2);
  await eventually(async () => (await queues[0]!.sharedLimit('partner').get()).running === 0);
  await Promise.all(workers.map((worker) => worker.stop()));
  queues.forEach((queue) => queue.close());
}, 60_000);

it('is exact for each key over the masters, and every job runs', async () => {
  const cluster = await startCluster();
  const client = cluster.connect();
  const limits = [{ limit: 'crm', key: 'group' as const }];
  const queues = ['a', 'b', 'c'].map((name) => new JobQueue(client, name, { limits }));
  const groups = ['acme', 'bolt', 'cog {1}'];
  const running: Record<string, number> = {};
  let most = 0;
  const handle = async ({ group = '' }: { group: string | undefined }) => {
    running[group] = (running[group] ?? 0) + 1;
    most = Math.max(most, running[group]);
    await sleep(5);
    running[group]--;
  };
  const worker = new Worker(
    queues.map((queue) => ({ queue, handlers: { [queue.name]: handle } })),
    { limits: { crm: { maxRunning: 2 } } },
  );
  await worker.start();
  const jobs = groups.flatMap((group) => [1, 2, 3, 4, 5].map((payload) => ({ payload, group })));
  await Promise.all(queues.map((queue) => queue.enqueueMany(jobs)));
  const completed = async () => {
    const stats = await Promise.all(queues.map((queue) => queue.stats()));
    return stats.reduce((sum, { totals }) => sum + totals.completed!, 0);
  };
  await eventually(async () => (await completed()) === 45, { timeoutMs: 40_000, everyMs: 50 });
  expect(most).toBe(2);
  const keys = groups.map((group) => queues[0]!.sharedLimit('crm').key(group));
  await eventually(async () => (await Promise.all(keys.map((key) => key.get()))).every((key) => key.running === 0));
  await worker.stop();
  queues.forEach((queue) => queue.close());
}, 60_000);
