// Jobs of several slots of a Redis Cluster: a batch, also while a master fails over, and `after`.
import { beforeAll, expect, it, jest } from '@jest/globals';
import type { Job } from '#worker/handlers/job.js';
import type { Cluster } from 'ioredis';
import { NonRetryableError } from '#queue/errors/errors.js';
import { JobQueue } from '#queue/job-queue.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { eventually, gate } from '../../support/faults/wait.js';
import { startCluster, type OwnCluster } from '../../support/redis/own-cluster.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { startWorker } from '../../support/worker/workers.js';

const LONG_MS = 120_000;
jest.setTimeout(LONG_MS);
let cluster: OwnCluster;

beforeAll(async () => {
  cluster = await startCluster({ replicas: true });
}, LONG_MS);

const handler = (job: Job<number>) => job.payload;
const SLOT_OF = (client: Cluster, queue: string) => client.cluster('KEYSLOT', `queue:{${queue}}:pending`);

/** Makes `count` queues in as many slots. */
async function queuesOn(client: Cluster, count: number): Promise<JobQueue[]> {
  const queues = Array.from(
    { length: count },
    () => new JobQueue(client, uniqueQueueName(), { visibilityMs: 3_000 }),
  );
  const slots = new Set(await Promise.all(queues.map(({ name }) => SLOT_OF(client, name))));
  expect(slots.size).toBe(count);
  return queues;
}

it('fires once all members of four slots have ended, and once only', async () => {
  const client = cluster.connect();
  const queues = await queuesOn(client, 4);
  const [home] = queues;
  const worker = await startWorker(
    queues.map((queue) => ({ queue, handlers: { [queue.name]: handler, then: handler } })),
    undefined,
    { sweepIntervalMs: 200 },
  );
  const batch = home!.batch({ then: { name: 'then', payload: 7 } });
  for (const queue of queues) {
    await batch.addMany(
      queue.name,
      Array.from({ length: 60 }, (_, payload) => ({ payload })),
      { queue },
    );
  }
  await batch.seal();
  await eventually(async () => (await batch.status()).state === 'ended', { timeoutMs: LONG_MS });
  expect(await batch.status()).toMatchObject({ total: 240, completed: 240 });
  const found = new Map<string, number>();
  for await (const { queue } of batch.members()) found.set(queue, (found.get(queue) ?? 0) + 1);
  expect([...found.values()]).toEqual([60, 60, 60, 60]);
  expect((await home!.stats()).totals.enqueued).toBe(61);
  await worker.worker.stop();
  queues.forEach((queue) => queue.close());
});

it('starts a job after jobs of three other slots, and fails one after a job of another slot that failed', async () => {
  const client = cluster.connect();
  const queues = await queuesOn(client, 4);
  const [home, ...others] = queues;
  const ended: string[] = [];
  const enqueued = gate();
  const handle = async ({ id, payload }: Job<{ fails?: true }>) => {
    await enqueued.promise;
    if (payload.fails) throw new NonRetryableError('no ink');
    ended.push(id);
    return 'ran';
  };
  const worker = await startWorker(
    queues.map((queue) => ({ queue, handlers: { [queue.name]: handle } })),
    undefined,
    { sweepIntervalMs: 200 },
  );
  const before = await Promise.all(Array.from({ length: 30 }, (_, i) => others[i % 3]!.enqueue({ n: i })));
  const bad = await others[0]!.enqueue({ fails: true });
  const last = await home!.enqueue({}, { after: before });
  const never = await home!.enqueue({}, { after: [before[0]!, bad] });
  enqueued.open();
  expect(await last.result({ timeoutMs: LONG_MS })).toBe('ran');
  expect(ended.at(-1)).toBe(last.id);
  expect(ended.toSorted()).toEqual([...before.map(({ id }) => id), last.id].toSorted());
  await expect(never.result({ timeoutMs: LONG_MS })).rejects.toThrow(
    `Job ${bad.id} of the queue "${others[0]!.name}", after which this job was to start, failed`,
  );
  await worker.worker.stop();
  queues.forEach((queue) => queue.close());
});

it('fires once when the master of the batch fails over while ends are in flight', async () => {
  const client = cluster.connect();
  const [home, ...others] = await queuesOn(client, 8);
  const owner = ({ name }: JobQueue) => cluster.ownerOf(`queue:{${name}}:pending`);
  const master = await owner(home!);
  const owners = await Promise.all(others.map(owner));
  const pages = others[owners.findIndex((each) => each !== master)];
  const batch = home!.batch({ then: { name: 'then' } });
  await batch.addMany(
    'page',
    Array.from({ length: 20 }, (_, payload) => ({ payload })),
    { queue: pages! },
  );
  await batch.seal();
  const claims = await pages!.claimMany(20);
  for (const claim of claims.slice(0, 10)) await pages!.complete(claim, claim.payload);
  await maintainBatches(pages!);
  await cluster.node(master).call('WAIT', 1, 5_000);
  await master.kill();
  for (const claim of claims.slice(10)) await pages!.complete(claim, claim.payload);
  await eventually(
    async () => {
      await maintainBatches(pages!).catch(() => undefined);
      const status = await batch.status().catch(() => undefined);
      return status?.state === 'fired';
    },
    { timeoutMs: LONG_MS },
  );
  await maintainBatches(pages!);
  expect(await batch.status()).toMatchObject({ completed: 20, total: 20 });
  expect((await home!.stats()).totals.enqueued).toBe(1);
  [home!, ...others].forEach((queue) => queue.close());
});
