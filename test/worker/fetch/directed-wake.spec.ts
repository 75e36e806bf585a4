// Workers of many queues in a Cluster share a few connections, and a job wakes one of them. The looks that would find a job
// within a second are held back while starts are timed.
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Cluster } from 'ioredis';
import { JobQueue } from '#queue/job-queue.js';
import type { JobQueueOptions } from '#queue/enqueue/enqueue-middleware.js';
import { Connection } from '#queue/redis/connection.js';
import { RedisStore } from '#queue/redis-store.js';
import type { StoreCall } from '#queue/store/store-call.js';
import type { ScriptCall } from '#queue/transport/script-runner.js';
import { IdleLooks } from '#worker/fetch/idle-wait.js';
import type { Job } from '#worker/handlers/job.js';
import type { QueueRunner } from '#worker/runner/queue-runner.js';
import { BACK_MS } from '../../support/queue/bounds.js';
import { inside } from '../../support/queue/inside.js';
import { createClusterUser } from '../../support/redis/acl.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startCluster, type OwnCluster } from '../../support/redis/own-cluster.js';
import { eventually, gate, sleep } from '../../support/faults/wait.js';
import { startWorker, untilAborted, type TestWorker } from '../../support/worker/workers.js';
import { openedQueue } from '../../support/queue/core-queue.js';

const MANY = 12;

/** The longest time until a start by a wake, in ms. A waiter that is not woken is no earlier than its next turn, in 5 s. */
const FAST_MS = 2_500;

let cluster: OwnCluster;

beforeAll(async () => {
  cluster = await startCluster({ replicas: true, nodeTimeoutMs: 10_000 });
}, 60_000);

describe('a worker of many queues', () => {
  it('has at most three connections to each master, is woken in each queue, and leaves no waiter', async () => {
    await client().ping();
    await Promise.all(
      client()
        .nodes('master')
        .map((node) => node.ping()),
    );
    const before = await connections();
    const { names, worker } = await startMany();
    // ioredis opens more for a moment, to ask for the slots.
    await eventually(async () => (await connections()) - before <= 9, { what: 'nine connections at most' });
    expect(Math.max(...(await timeWakes(worker, producers(names))))).toBeLessThan(FAST_MS);
    expect(worker.warnings).toEqual([]);
    await eventually(async () => (await waiters(names[0]!)).length === 1);
    await worker.worker.stop();
    expect(await Promise.all(names.map(waiters))).toEqual(names.map(() => []));
  }, 60_000);

  it('claims from no idle queue each second while a busy one uses all slots of the process', async () => {
    const names = newNames(MANY);
    const worker = await startOn(names, () => sleep(20), { concurrency: 2 });
    await waiting(names);
    const claimed = claimsOf(worker);
    const jobs = 150; // a second and a half
    await producers(names)[0]!.enqueueMany(Array.from({ length: jobs }, () => ({ payload: 1 })));
    await worker.event('completed', jobs);
    // A waiter registers again each minute.
    expect(claimed().filter((name) => name !== names[0]).length).toBeLessThan(4);
  }, 60_000);

  it('gets a cancel of a running job, and claims at the time of a delayed one', async () => {
    const { names, worker } = await startMany((job) => (job.payload === 'long' ? untilAborted(job) : undefined));
    const [queue] = producers(names.slice(0, 1)) as [JobQueue];
    const { id } = await queue.enqueue('long');
    await worker.event('started');
    const cancelled = worker.event('cancelled', 1, { id });
    const cancelledMs = await timed(async () => {
      await queue.cancel(id);
      await cancelled;
    });
    expect(cancelledMs).toBeLessThan(BACK_MS);
    const delayedMs = await withoutLooks(() =>
      timed(async () => {
        const delayed = await queue.enqueue({ soon: true }, { delayMs: 200 });
        await worker.event('completed', 1, { id: delayed.id });
      }),
    );
    expect(delayedMs).toBeLessThan(200 + FAST_MS);
  }, 60_000);

  it('serves as before where Redis refuses the channels', async () => {
    const of = await createClusterUser(cluster, '~* &* +@all -ssubscribe');
    const { names, worker } = await startMany(undefined, { of, isWoken: false });
    await eventually(() => worker.warnings.length > 0);
    expect(Math.max(...(await timeStarts(worker, producers(names))))).toBeLessThan(BACK_MS);
    expect(worker.warnings).toEqual([expect.stringContaining('Grant +ssubscribe')]);
  }, 60_000);

  it('names the ability that a server lacks, and serves as before', async () => {
    const of = cluster.connect();
    const connection = Connection.of(of);
    const facts = { ...(await connection.inspect()), hasShardedChannels: false };
    jest.spyOn(connection, 'inspect').mockResolvedValue(facts);
    const { names, worker } = await startMany(undefined, { of, isWoken: false });
    await eventually(() => worker.warnings.length > 0);
    expect(Math.max(...(await timeStarts(worker, producers(names))))).toBeLessThan(BACK_MS);
    expect(worker.warnings).toEqual([
      expect.stringContaining('This server lacks sharded channels (SSUBSCRIBE and SPUBLISH'),
    ]);
  }, 60_000);
});

it('a claim reports that the channel of its worker has no subscriber', async () => {
  const [queue] = producers(newNames(1)) as [JobQueue];
  const { scripts, run } = inside(queue);
  const claim = async (token: string, worker: string) =>
    run((await scripts()).claim({ count: 2, token, worker, stream: 'trip', announces: true }));
  expect(await claim('1', 'unheard')).toMatchObject({ jobs: [], isUnheard: true, isLimited: false });
  await queue.enqueue({});
  expect(await claim('2', 'unheard')).toMatchObject({ jobs: [{ payload: {} }], isUnheard: true, isLimited: false });
  expect(await waiters(queue.name)).toEqual([]);
  const subscriber = connect({}, (await cluster.ownerOf(keyOf(queue.name, 'wake'))).url);
  await subscriber.ssubscribe(`${keyOf(queue.name, 'wake')}:heard`);
  expect((await claim('3', 'heard')).isUnheard).toBeUndefined();
  expect(await waiters(queue.name)).toEqual(['heard']);
  await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
  await client().zadd(keyOf(queue.name, 'waiters'), 1, 'heard'); // as if it had claimed before the wake reached it
  expect((await claim('4', 'heard')).jobs).toHaveLength(2);
  expect(await waiters(queue.name)).toEqual([]); // it may have no free slot now
  subscriber.disconnect();
}, 60_000);

describe('no job is late', () => {
  it('after many dead waiters', async () => {
    const { names, worker } = await startMany();
    const [queue] = producers(names.slice(0, 1)) as [JobQueue];
    const dead = Array.from({ length: 50 }, (_, i) => [i, `dead-${i}`]).flat();
    await client().zadd(keyOf(queue.name, 'waiters'), ...dead);
    expect(Math.max(...(await timeWakes(worker, [queue])))).toBeLessThan(FAST_MS);
    await eventually(async () => (await waiters(queue.name)).length === 1);
  }, 60_000);

  it('where a job comes right after the claim that found none', async () => {
    const names = newNames(5);
    const workers = [await startOn(names), await startOn(names)];
    const [queue] = producers(names.slice(0, 1)) as [JobQueue];
    const either = { event: (...args: Parameters<TestWorker['event']>) => raced(workers, args) };
    expect(Math.max(...(await timeWakes(either, Array<JobQueue>(100).fill(queue))))).toBeLessThan(FAST_MS);
  }, 60_000);

  it('where workers wait for markers and for wakes', async () => {
    const names = newNames(5);
    const [queue] = producers(names.slice(0, 1)) as [JobQueue];
    const woken = await startOn(names);
    const marked = await startOn(names.slice(0, 1));
    const both = { event: (...args: Parameters<TestWorker['event']>) => raced([woken, marked], args) };
    expect(Math.max(...(await timeWakes(both, Array<JobQueue>(20).fill(queue))))).toBeLessThan(FAST_MS);
    await woken.worker.stop();
    expect(Math.max(...(await timeWakes(marked, Array<JobQueue>(5).fill(queue))))).toBeLessThan(FAST_MS);
    const again = await startOn(names);
    await waiting(names);
    await marked.worker.stop();
    expect(Math.max(...(await timeWakes(again, Array<JobQueue>(5).fill(queue))))).toBeLessThan(FAST_MS);
  }, 60_000);

  it('where a limit of the queue allows fewer jobs than the worker has slots', async () => {
    const names = newNames(5);
    const worker = await startOn(names, undefined, { maxRunning: 1 });
    await waiting(names);
    const [queue] = producers(names) as [JobQueue];
    expect(Math.max(...(await timeWakes(worker, Array<JobQueue>(5).fill(queue))))).toBeLessThan(FAST_MS);
  }, 60_000);

  it('where the woken worker has no free slot', async () => {
    const names = newNames(5);
    const busy = gate();
    const full = await startOn(names, (job) => (job.payload === 'busy' ? busy.promise : undefined), {
      concurrency: 1,
    });
    await waiting(names);
    const [first, second] = producers(names.slice(0, 2)) as [JobQueue, JobQueue];
    await first.enqueue('busy');
    await full.event('started');
    const free = await startOn(names);
    await waiting(names.slice(1), 2);
    // The full worker waits longest, so the wake is for it.
    expect(await waiters(second.name)).toEqual([full.worker.id, free.worker.id]);
    expect(Math.max(...(await timeWakes(free, [second])))).toBeLessThan(FAST_MS);
    busy.open();
    await full.event('completed');
  }, 60_000);
});

describe('a worker without a free slot', () => {
  it('is a waiter again if its claim overtakes the wake that it passes on', async () => {
    const { names, full, busy, second, exec } = await startFull();
    const [held, isHeld, late] = [gate(), gate(), gate()];
    const run = RedisStore.prototype.exec;
    exec.mockImplementation(async function (this: RedisStore, call, limit) {
      if (!isPass(call)) return run.call(this, call, limit);
      isHeld.open();
      await held.promise;
      return run.call(this, call, limit).finally(() => late.open());
    });
    await second.enqueue('short');
    await isHeld.promise;
    busy.open();
    await full.event('completed', 2);
    await waiting(names);
    held.open();
    await late.promise;
    // A waiter registers by itself only once a minute.
    await waiting(names, 1, BACK_MS);
  }, 60_000);

  it('passes no wake on where only its channels were confirmed', async () => {
    const { names, full, busy, exec } = await startFull();
    for (const server of cluster.nodes) await cluster.node(server).call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await eventually(async () => (await Promise.all(names.map((name) => isHeard(name, full)))).every(Boolean));
    busy.open();
    await full.event('completed');
    await waiting(names);
    expect(exec.mock.calls.filter(([call]) => isPass(call))).toEqual([]);
  }, 60_000);
});

describe('a lost wake', () => {
  it('of a frozen waiter costs a second', async () => {
    const { names, worker } = await startMany();
    const [queue] = producers(names.slice(0, 1)) as [JobQueue];
    const frozen = connect({}, (await cluster.ownerOf(keyOf(queue.name, 'wake'))).url);
    await frozen.ssubscribe(`${keyOf(queue.name, 'wake')}:frozen`);
    await client().zadd(keyOf(queue.name, 'waiters'), 1, 'frozen');
    expect(Math.max(...(await timeStarts(worker, [queue])))).toBeLessThan(BACK_MS);
    expect(await waiters(queue.name)).not.toContain('frozen');
    frozen.disconnect();
  }, 60_000);

  it('of a cut hub, a moved slot or a failover is found', async () => {
    const { names, worker } = await startMany();
    const queues = producers(names);
    for (const server of cluster.nodes) await cluster.node(server).call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    expect(Math.max(...(await timeStarts(worker, queues)))).toBeLessThan(BACK_MS);

    const key = keyOf(names[0]!, 'wake');
    const owner = await cluster.ownerOf(key);
    const other = (await Promise.all(names.map(async (name) => cluster.ownerOf(keyOf(name, 'wake'))))).find(
      (each) => each !== owner,
    )!;
    await cluster.moveSlot(key, other, async () => undefined);
    expect(Math.max(...(await timeStarts(worker, queues.slice(0, 1))))).toBeLessThan(BACK_MS);

    const replica = await cluster.replicaOf(other);
    await cluster.node(replica).cluster('FAILOVER');
    await eventually(async () => (await cluster.ownerOf(key)) === replica);
    expect(Math.max(...(await timeStarts(worker, queues)))).toBeLessThan(BACK_MS);
    await waiting(names);
    expect(Math.max(...(await timeWakes(worker, queues)))).toBeLessThan(FAST_MS);
  }, 60_000);
});

/** Notes from which queues a worker claims. Returns their names, each once for a claim. */
function claimsOf({ worker }: TestWorker): () => string[] {
  const { runners } = worker as unknown as { runners: readonly QueueRunner[] };
  const spies = runners.map((runner) => ({ name: runner.name, spy: jest.spyOn(runner.calls, 'claim') }));
  return () => spies.flatMap(({ name, spy }) => spy.mock.calls.map(() => name));
}

let shared: Cluster | undefined;

function client(): Cluster {
  return (shared ??= cluster.connect());
}

function newNames(count: number): string[] {
  return Array.from({ length: count }, () => uniqueQueueName());
}

/** Makes the queues of another process. */
function producers(names: readonly string[]): JobQueue[] {
  return names.map((name) => openedQueue(client(), name));
}

type Handle = (job: Job<never>) => unknown;

async function startOn(
  names: readonly string[],
  handle: Handle = () => undefined,
  {
    concurrency,
    maxRunning,
    of = cluster.connect(),
  }: Pick<JobQueueOptions, 'maxRunning'> & { concurrency?: number; of?: Cluster } = {},
): Promise<TestWorker> {
  const served = names.map((name) => ({
    queue: openedQueue(of, name, maxRunning === undefined ? {} : { maxRunning }),
    handlers: { [name]: handle },
  }));
  return startWorker(served, undefined, concurrency === undefined ? {} : { concurrency });
}

async function startMany(handle?: Handle, { of = cluster.connect(), isWoken = true } = {}) {
  const names = newNames(MANY);
  const worker = await startOn(names, handle, { of });
  if (isWoken) await waiting(names);
  return { names, worker };
}

/** Starts a worker of one slot that a job uses. It is a waiter of each queue. */
async function startFull() {
  const names = newNames(MANY);
  const of = cluster.connect();
  const busy = gate();
  const full = await startOn(names, (job) => (job.payload === 'busy' ? busy.promise : undefined), {
    concurrency: 1,
    of,
  });
  await waiting(names);
  const [first, second] = producers(names.slice(0, 2)) as [JobQueue, JobQueue];
  await first.enqueue('busy');
  await full.event('started');
  return { names, full, busy, second, exec: jest.spyOn(RedisStore.of(of), 'exec') };
}

/** Waits until a number of workers are waiters of each queue. */
async function waiting(names: readonly string[], count = 1, timeoutMs = 20_000): Promise<void> {
  await eventually(async () => (await Promise.all(names.map(waiters))).every((each) => each.length === count), {
    what: `${count} waiters of each queue`,
    timeoutMs,
  });
}

/** Returns whether the server counts a worker as a subscriber of its wake channel. */
async function isHeard(name: string, { worker }: TestWorker): Promise<boolean> {
  const server = connect({}, (await cluster.ownerOf(keyOf(name, 'wake'))).url);
  const [, count] = (await server.pubsub('SHARDNUMSUB', `${keyOf(name, 'wake')}:${worker.id}`)) as [string, number];
  server.disconnect();
  return count > 0;
}

function isPass(call: StoreCall<unknown>): boolean {
  return (call as Partial<ScriptCall<unknown>>).script === 'workerPassWake';
}

function waiters(name: string): Promise<string[]> {
  return client().zrange(keyOf(name, 'waiters'), 0, '-1');
}

function keyOf(name: string, key: 'wake' | 'waiters'): string {
  return `queue:{${name}}:${key}`;
}

/** Returns the ms until each of some jobs has completed, one job after another. */
/** Holds back the looks of all workers, which would find the job of a lost wake within a second. */
async function withoutLooks<Outcome>(action: () => Promise<Outcome>): Promise<Outcome> {
  const looks = jest.spyOn(IdleLooks.prototype, 'runOnce').mockResolvedValue();
  return action().finally(() => looks.mockRestore());
}

async function timeWakes(...args: Parameters<typeof timeStarts>): Promise<number[]> {
  return withoutLooks(() => timeStarts(...args));
}

async function timeStarts(worker: Pick<TestWorker, 'event'>, queues: readonly JobQueue[]): Promise<number[]> {
  const times: number[] = [];
  for (const queue of queues) {
    times.push(
      await timed(async () => {
        const { id } = await queue.enqueue('short');
        await worker.event('completed', 1, { id });
      }),
    );
  }
  return times;
}

async function raced(workers: readonly TestWorker[], args: Parameters<TestWorker['event']>) {
  return Promise.race(workers.map((worker) => worker.event(...args)));
}

async function timed(action: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await action();
  return performance.now() - begun;
}

/** Returns how many connections all nodes have together. */
async function connections(): Promise<number> {
  const lists = await Promise.all(cluster.nodes.map((server) => cluster.node(server).client('LIST')));
  return String(lists.join('')).split('\n').filter(Boolean).length;
}
