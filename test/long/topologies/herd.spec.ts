// One worker is woken for each job, however many wait. A claim that leaves jobs behind wakes the next one.
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import type { Cluster } from 'ioredis';
import { JobQueue } from '#queue/job-queue.js';
import type { QueueRunner } from '#worker/runner/queue-runner.js';
import type { WorkerOptions } from '#worker/worker-options.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { startCluster, type OwnCluster } from '../../support/redis/own-cluster.js';
import { eventually, gate } from '../../support/faults/wait.js';
import { startWorker, type TestWorker } from '../../support/worker/workers.js';

const WORKERS = 32;
const JOBS = 200;

/** A worker of more queues than four is woken over its hub. */
const QUEUES = 5;

/** The most wakes, and claims that find nothing, for each job. A few more come from the clock. */
const MOST_WAKES = 1.1;
const MOST_EMPTY_CLAIMS = 2;

/** The longest time until all jobs of a call run, in ms. A look would find one a second later. */
const FAST_MS = 500;

let cluster: OwnCluster;
const names = Array.from({ length: QUEUES }, () => uniqueQueueName());
const open: JobQueue[] = [];

beforeAll(async () => {
  cluster = await startCluster({ nodeTimeoutMs: 15_000 });
}, 60_000);

afterAll(() => open.forEach((queue) => queue.close()));

it('wakes one of 32 workers for each of 200 single jobs', async () => {
  let completed = 0;
  const onEvent = ({ type }: { type: string }) => void (type === 'completed' && completed++);
  const workers = await startWaiting(() => undefined, { onEvent });
  const producer = newQueue(cluster.connect(), names[0]!);
  const claims = claimsOf(workers, producer.name);
  const wakes = await published();
  for (let i = 0; i < JOBS; i++) {
    await producer.enqueue(i);
    await eventually(() => completed === i + 1, { everyMs: 1, what: `the end of job ${i}` });
  }
  expect((await published()) - wakes).toBeLessThanOrEqual(MOST_WAKES * JOBS);
  expect(claims() - JOBS).toBeLessThanOrEqual(MOST_EMPTY_CLAIMS * JOBS);
}, 180_000);

it('wakes one worker after another for the jobs of one call', async () => {
  const end = gate();
  let started = 0;
  await startWaiting(() => {
    started++;
    return end.promise;
  });
  const producer = newQueue(cluster.connect(), names[0]!);
  const begun = performance.now();
  await producer.enqueueMany(Array.from({ length: WORKERS }, (_, payload) => ({ payload })));
  await eventually(() => started === WORKERS, { everyMs: 1, what: 'a job of each worker' });
  expect(performance.now() - begun).toBeLessThan(FAST_MS);
  end.open();
}, 180_000);

function newQueue(client: Cluster, name: string): JobQueue {
  const queue = new JobQueue(client, name);
  open.push(queue);
  return queue;
}

/** Starts workers with a slot for each queue. Resolves when all of them wait for jobs of the first queue. */
async function startWaiting(handle: () => unknown, options: WorkerOptions = {}): Promise<TestWorker[]> {
  const workers: TestWorker[] = [];
  for (let i = 0; i < WORKERS; i++) {
    const client = cluster.connect();
    const queues = names.map((name) => newQueue(client, name));
    const served = queues.map((queue) => ({ queue, concurrency: 1, handlers: { [queue.name]: handle } }));
    workers.push(await startWorker(served, undefined, options));
  }
  const key = `queue:{${names[0]!}}:waiters`;
  const master = cluster.node(await cluster.ownerOf(key));
  await eventually(async () => (await master.zcard(key)) === WORKERS, { timeoutMs: 60_000, what: 'all waiters' });
  return workers;
}

/** Counts the claims of some workers from a queue, from now on. */
function claimsOf(workers: readonly TestWorker[], name: string): () => number {
  const spies = workers.flatMap(({ worker }) => {
    const { runners } = worker as unknown as { runners: readonly QueueRunner[] };
    return runners.filter((runner) => runner.name === name).map((runner) => jest.spyOn(runner.calls, 'claim'));
  });
  return () => spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
}

/** Returns the number of messages on sharded channels until now. */
async function published(): Promise<number> {
  const stats = await Promise.all(cluster.nodes.map((server) => cluster.node(server).info('commandstats')));
  return stats.reduce((sum, text) => sum + Number(/^cmdstat_spublish:calls=(\d+)/m.exec(text)?.[1] ?? 0), 0);
}
