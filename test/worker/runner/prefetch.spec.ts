// Jobs that a worker claims beyond its free slots, so that the next begins without a round trip.
import { expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { JobQueue } from '#queue/job-queue.js';
import type { Job } from '#worker/handlers/job.js';
import { eventually, gate } from '../../support/faults/wait.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';
import { inside } from '../../support/queue/inside.js';

const enqueue = async (queue: JobQueue, count: number) =>
  (await queue.enqueueMany(Array.from({ length: count }, (_, i) => ({ payload: i })))).map(({ id }) => id);

/** Starts a worker with one slot that runs the first job, and has prefetched `prefetch` others. */
async function busy(queue: JobQueue, prefetch: number, options = {}) {
  const first = gate();
  const ran: number[] = [];
  const load = { now: 0, most: 0 };
  const handler = async (job: Job<never>) => {
    load.most = Math.max(load.most, ++load.now);
    await (job.payload === 0 ? first.promise : new Promise(setImmediate));
    ran.push(job.payload);
    load.now--;
  };
  const list = [{ queue, concurrency: 1, prefetch, handlers: { [queue.name]: handler } }];
  const worker = await startWorker(list, undefined, options);
  await eventually(async () => (await queue.stats()).processing === 1 + prefetch);
  return { worker, ran, load, first };
}

it('of 0 is none: a job without a slot stays where any worker can take it', async () => {
  const queue = newQueue();
  await enqueue(queue, 3);
  const { worker, first } = await busy(queue, 0);
  await queue.stats(); // a round trip, in which another could have been claimed
  expect(await queue.stats()).toMatchObject({ processing: 1, pending: 2 });
  first.open();
  await worker.event('completed', 3);
});

it('claims as many more as its option says, and runs them in order, never more at once than it has slots', async () => {
  const queue = newQueue();
  await enqueue(queue, 50);
  const { worker, ran, load, first } = await busy(queue, 5);
  expect(worker.worker.running).toBe(1);
  expect(await queue.stats()).toMatchObject({ processing: 6, pending: 44 });
  first.open();
  await worker.event('completed', 50);
  expect(ran).toEqual(Array.from({ length: 50 }, (_, i) => i));
  expect(load.most).toBe(1);
});

it('of 1 claims the next job while the one before it runs', async () => {
  const queue = newQueue();
  await enqueue(queue, 4);
  const gates = [gate(), gate()];
  const handle = (job: Job<number>) => gates[job.payload]?.promise;
  const worker = await startWorker([{ queue, concurrency: 1, prefetch: 1, handlers: { [queue.name]: handle } }]);
  await eventually(async () => (await queue.stats()).processing === 2);
  gates[0]!.open();
  await eventually(async () => (await queue.stats()).pending === 1);
  expect(await queue.stats()).toMatchObject({ processing: 2, completed: 1 });
  gates[1]!.open();
  await worker.event('completed', 4);
});

it('of handlers without a promise completes in their order', async () => {
  const queue = newQueue();
  const ids = await enqueue(queue, 30);
  const first = gate();
  const handle = (job: Job) => (job.payload === 0 ? first.promise : undefined);
  const worker = await startWorker([{ queue, concurrency: 1, prefetch: 7, handlers: { [queue.name]: handle } }]);
  await eventually(async () => (await queue.stats()).processing === 8);
  first.open();
  await worker.event('completed', 30);
  const completed = worker.events.filter(({ type }) => type === 'completed').map(({ job }) => job.id);
  expect(completed).toEqual(ids);
});

it('takes jobs of groups in their turns, and runs them in the order of their claim', async () => {
  const queue = newQueue();
  const groups = ['a', 'b', 'c'];
  const jobs = Array.from({ length: 30 }, (_, i) => ({ payload: i, group: groups[i < 10 ? 0 : 1 + (i % 2)]! }));
  const ids = (await queue.enqueueMany(jobs)).map(({ id }) => id);
  const { worker, ran, load, first } = await busy(queue, 5);
  expect(await queue.stats()).toMatchObject({ processing: 6, pending: 24 });
  first.open();
  await worker.event('completed', 30);
  expect(ran.slice(0, 6).map((i) => jobs[i]!.group)).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
  expect(ran.slice(0, 6)).toEqual([0, 10, 11, 1, 12, 13]);
  expect(load.most).toBe(1);
  expect(await queue.get(ids[29]!)).toMatchObject({ status: 'completed', attempts: 1 });
});

it('takes no job of a group with a limit, and no marker of a job that another worker can start', async () => {
  const queue = newQueue({ groups: { maxRunning: 1 } });
  const [held] = await queue.enqueueMany([{ payload: 0, group: 'a' }]);
  const first = gate();
  const slots = {
    concurrency: 1,
    handlers: { [queue.name]: (job: Job) => (job.payload === 0 ? first.promise : undefined) },
  };
  const full = await startWorker([{ queue, prefetch: 5, ...slots }]);
  await full.event('started', 1, { id: held!.id });
  const other = await startWorker([{ queue, ...slots }]);
  const { id } = await queue.enqueue(1, { group: 'b' });
  await other.event('completed', 1, { id });
  expect(full.worker.running).toBe(1);
  expect(full.worker['runners'][0]!.capacity.isFull).toBe(true); // else its waits would end at its own marker
  first.open();
  await full.event('completed');
});

it.each(['pause', 'stop'] as const)('goes back at a %s, in its place and without an attempt', async (verb) => {
  const queue = newQueue();
  const ids = await enqueue(queue, 4);
  const { worker, first, ran } = await busy(queue, 2);
  const done = Promise.resolve(worker.worker[verb]());
  await eventually(async () => (await queue.stats()).pending === 3);
  first.open();
  await done;
  await worker.event('completed');
  expect(ran).toEqual([0]);
  expect(await queue.get(ids[1]!)).toMatchObject({ status: 'pending', attempts: 0, crashes: 0 });
  expect((await queue.claimMany(3)).map(({ id }) => id)).toEqual(ids.slice(1));
});

it('is kept from expiring, as running jobs are', async () => {
  const queue = newQueue({ visibilityMs: 600 });
  const ids = await enqueue(queue, 3);
  const { worker, first } = await busy(queue, 2, { sweepIntervalMs: 50 });
  const { keys } = await inside(queue).scripts();
  const expiry = async () => Number(await (inside(queue).connection.client as Redis).zscore(keys.claims, ids[2]!));
  const claimedUntil = await expiry();
  await eventually(async () => (await expiry()) > claimedUntil + 900);
  first.open();
  await worker.event('completed', 3);
  expect(await queue.get(ids[2]!)).toMatchObject({ status: 'completed', attempts: 1, crashes: 0 });
});

it('ends cancelled without starting, after a cancel request', async () => {
  const queue = newQueue({ visibilityMs: 300 });
  const ids = await enqueue(queue, 2);
  const { worker, first, ran } = await busy(queue, 1);
  await queue.cancel(ids[1]!);
  await worker.event('cancelled', 1, { id: ids[1]! });
  first.open();
  await worker.event('completed');
  expect(ran).toEqual([0]);
  expect(worker.count('started', ids[1])).toBe(0);
  expect(await queue.get(ids[1]!)).toMatchObject({ status: 'cancelled' });
});

it('does not begin when its claim was lost', async () => {
  const queue = newQueue({ visibilityMs: 300 });
  const ids = await enqueue(queue, 2);
  const { worker, first, ran } = await busy(queue, 1);
  const { keys } = await inside(queue).scripts();
  const redis = inside(queue).connection.client as Redis;
  await queue.pause();
  // A heartbeat in between takes an expired claim up again.
  await eventually(async () => {
    await redis.zadd(keys.claims, 'XX', 1, ids[1]!);
    return (await queue.reclaim()).reclaimed.length > 0;
  });
  await worker.event('lost', 1, { id: ids[1]! });
  first.open();
  await worker.event('completed');
  expect(ran).toEqual([0]);
  expect(await queue.get(ids[1]!)).toMatchObject({ status: 'pending', attempts: 0, crashes: 0 });
});

it('is aborted where it has started before it was known that its claim is lost', async () => {
  const queue = newQueue();
  const [first, aborted] = [gate(), gate()];
  const ids = await enqueue(queue, 2);
  const handle = async (job: Job) => {
    if (job.payload === 0) return first.promise;
    job.signal.addEventListener('abort', () => aborted.open());
    return aborted.promise;
  };
  const list = [{ queue, concurrency: 1, prefetch: 1, handlers: { [queue.name]: handle } }];
  const worker = await startWorker(list);
  await eventually(async () => (await queue.stats()).processing === 2);
  const { keys } = await inside(queue).scripts();
  await (inside(queue).connection.client as Redis).zadd(keys.claims, 'XX', 1, ids[1]!);
  await queue.pause();
  await queue.reclaim();
  first.open();
  await worker.event('lost', 1, { id: ids[1]! });
  await aborted.promise;
  await worker.event('completed', 1, { id: ids[0]! });
  expect([worker.count('started'), worker.count('lost')]).toEqual([2, 1]);
  expect(await queue.get(ids[1]!)).toMatchObject({ status: 'pending', attempts: 0, crashes: 0 });
});

it('keeps an isolated job apart: the jobs that were claimed with it go back, and run after it', async () => {
  const queue = newQueue();
  const [isolated] = await enqueue(queue, 1);
  const { keys } = await inside(queue).scripts();
  for (let crashes = 0; crashes < 2; crashes++) {
    await queue.claimMany(1);
    await (inside(queue).connection.client as Redis).zadd(keys.claims, 'XX', 1, isolated!);
    await queue.reclaim();
  }
  const others = await enqueue(queue, 2);
  const list = [{ queue, concurrency: 1, prefetch: 2, handlers: { [queue.name]: () => undefined } }];
  const worker = await startWorker(list);
  await worker.event('completed', 3);
  const started = worker.events.filter(({ type }) => type === 'started').map(({ job }) => job.id);
  expect(started).toEqual([isolated, ...others]);
});
