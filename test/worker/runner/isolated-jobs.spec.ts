// An isolated job has crashed its workers, and another crash makes it a dead letter. It runs alone, by virtual time.
import { afterEach, describe, expect, it } from '@jest/globals';
import type { EventEmitter } from 'node:events';
import type { JobQueue } from '#queue/job-queue.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import { ScriptStore } from '#memory/script-store.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { gate, type Gate } from '../../support/faults/wait.js';
import { isMarked, viewOf } from '../../support/memory/memory-view.js';
import { newQueue, startWorker, type TestWorker } from '../../support/worker/workers.js';

const SECOND = 1_000;

interface World {
  clock: VirtualClock;
  queue: JobQueue;
  other: JobQueue;
  /** Ends a job, or lets it end at once. */
  open: (id: string) => void;
  start: () => Promise<TestWorker>;
}

function world(options: QueueOptions = {}): World {
  const clock = new VirtualClock();
  const store = new ScriptStore(clock);
  const [queue, other] = [newQueue(options, store), newQueue(options, store)];
  const gates = new Map<string, Gate>();
  const of = (id: string) => gates.get(id) ?? gates.set(id, gate()).get(id)!;
  const handle = ({ id }: { id: string }) => of(id).promise;
  const serve = (each: JobQueue) => ({ queue: each, concurrency: 4, handlers: { [each.name]: handle } });
  const start = async () => {
    const worker = await startWorker([serve(queue), serve(other)]);
    endings.push(async () => {
      const stopped = worker.worker.stop();
      await clock.advance(30 * SECOND);
      await stopped;
    });
    await clock.advance(10);
    return worker;
  };
  return { clock, queue, other, open: (id) => of(id).open(), start };
}

/** Enqueues a job with two crashes, as two workers that died leave it. */
async function enqueueIsolated({ queue, clock }: World): Promise<string> {
  await queue.pause();
  const { id } = await queue.enqueue({});
  const view = await viewOf(queue);
  view.write(view.keys.job(id), { attempts: '2', crashes: '2', next_crash_is_last: '1' });
  await queue.resume();
  await clock.advance(10);
  return id;
}

/** Starts a worker with a running job of another queue, and an isolated job behind it. */
async function behindAnother(options?: QueueOptions) {
  const at = world(options);
  const first = await at.other.enqueue({});
  const worker = await at.start();
  const isolated = await enqueueIsolated(at);
  return { ...at, first: first.id, isolated, worker };
}

/** What stops the workers of a test, by its clock. */
const endings: (() => Promise<void>)[] = [];

/** Returns whether the death of the worker would be a crash of the running job. */
async function isCharged({ queue }: World, id: string): Promise<boolean> {
  return !isMarked((await viewOf(queue)).job(id)!);
}

const startedIn = (worker: TestWorker) =>
  worker.events.filter(({ type }) => type === 'started').map(({ job }) => job.id);

describe('an isolated job', () => {
  afterEach(async () => {
    for (const end of endings.splice(0)) await end();
  });

  it('begins 5 s after all else has ended, and nothing begins while it runs, in any queue of the worker', async () => {
    const { clock, queue, other, first, isolated, worker, open } = await behindAnother();
    const later = [(await queue.enqueue({})).id, (await other.enqueue({})).id];
    await clock.advance(10 * SECOND);
    expect(startedIn(worker)).toEqual([first]);
    open(first);
    await clock.advance(4_900);
    expect(startedIn(worker)).toEqual([first]);
    await clock.advance(200);
    expect(startedIn(worker)).toEqual([first, isolated]);
    await clock.advance(20 * SECOND);
    expect(startedIn(worker)).toEqual([first, isolated]);
    [isolated, ...later].forEach(open);
    await clock.advance(SECOND);
    expect(startedIn(worker).toSorted()).toEqual([first, isolated, ...later].toSorted());
    expect(await queue.get(isolated)).toMatchObject({ status: 'completed', attempts: 3, crashes: 2 });
  });

  it('begins first in a worker in which no job has begun, and the jobs of its claims go back', async () => {
    const at = world();
    const { clock, queue, other, open } = at;
    const isolated = await enqueueIsolated(at);
    const others = [(await queue.enqueue({})).id, (await other.enqueue({})).id];
    const worker = await at.start();
    expect(startedIn(worker)).toEqual([isolated]);
    expect(await queue.get(others[0]!)).toMatchObject({ status: 'pending', attempts: 0 });
    expect(await other.get(others[1]!)).toMatchObject({ status: 'pending', attempts: 0 });
    [isolated, ...others].forEach(open);
    await clock.advance(SECOND);
    expect(worker.count('completed')).toBe(3);
  });

  it('waits for other jobs no longer than the visibility timeout, and runs alone no longer than 30 s', async () => {
    const { clock, other, first, isolated, worker, open } = await behindAnother({ visibilityMs: 10 * SECOND });
    const later = (await other.enqueue({})).id;
    await clock.advance(9_900);
    expect(startedIn(worker)).toEqual([first]);
    await clock.advance(200);
    expect(startedIn(worker)).toEqual([first, isolated]);
    await clock.advance(29 * SECOND);
    expect(startedIn(worker)).toEqual([first, isolated]);
    await clock.advance(2 * SECOND);
    expect(startedIn(worker)).toEqual([first, isolated, later]);
    [first, isolated, later].forEach(open);
    await clock.advance(SECOND);
    expect(worker.count('completed')).toBe(3);
  });

  it('keeps its claim while it waits', async () => {
    const { clock, queue, first, isolated, worker, open } = await behindAnother();
    const { claims } = await viewOf(queue);
    await clock.advance(25 * SECOND);
    expect(claims.score(isolated)).toBeGreaterThan(clock.now() + 15 * SECOND);
    expect(startedIn(worker)).toEqual([first]);
    [first, isolated].forEach(open);
    await clock.advance(6 * SECOND);
    expect(worker.count('completed')).toBe(2);
  });

  it('follows the isolated one before it at once, and is charged only 5 s after its end', async () => {
    const at = world();
    const ids = [await enqueueIsolated(at), await enqueueIsolated(at), await enqueueIsolated(at)];
    const worker = await at.start();
    expect(startedIn(worker)).toEqual(ids.slice(0, 1));
    expect(await isCharged(at, ids[0]!)).toBe(true);
    at.open(ids[0]!);
    await at.clock.advance(10);
    expect(startedIn(worker)).toEqual(ids.slice(0, 2));
    expect(await isCharged(at, ids[1]!)).toBe(false);
    expect(await at.queue.get(ids[1]!)).not.toHaveProperty('unstarted');
    await at.clock.advance(4_900);
    expect(await isCharged(at, ids[1]!)).toBe(false);
    await at.clock.advance(200);
    expect(await isCharged(at, ids[1]!)).toBe(true);
    expect(startedIn(worker)).toEqual(ids.slice(0, 2));
    at.open(ids[1]!);
    await at.clock.advance(10);
    expect(startedIn(worker)).toEqual(ids);
    at.open(ids[2]!);
    await at.clock.advance(SECOND);
    expect(worker.count('completed')).toBe(3);
  });

  it('waits again for leftovers once other jobs have run', async () => {
    const { clock, queue, first, isolated, worker, open, ...at } = await behindAnother();
    [first, isolated].forEach(open);
    await clock.advance(6 * SECOND);
    const other = (await queue.enqueue({})).id;
    open(other);
    await clock.advance(SECOND);
    const next = await enqueueIsolated({ clock, queue, open, ...at });
    await clock.advance(4_900);
    expect(startedIn(worker)).toEqual([first, isolated, other]);
    await clock.advance(200);
    expect(startedIn(worker)).toEqual([first, isolated, other, next]);
    open(next);
    await clock.advance(SECOND);
  });

  it('is released by a local pause of its queue that comes first, and by none of another', async () => {
    const { clock, queue, other, first, isolated, worker, open } = await behindAnother();
    worker.worker.pause(other.name);
    await clock.advance(SECOND);
    expect(await queue.get(isolated)).toMatchObject({ status: 'processing' });
    worker.worker.pause(queue.name);
    open(first);
    await clock.advance(10 * SECOND);
    expect(startedIn(worker)).toEqual([first]);
    expect(await queue.get(isolated)).toMatchObject({ status: 'pending', attempts: 2, interruptions: 1 });
    worker.worker.resume();
    open(isolated);
    await clock.advance(6 * SECOND);
    expect(await queue.get(isolated)).toMatchObject({ status: 'completed' });
  });

  it('is released by a stop that comes first, and is not charged', async () => {
    const { clock, queue, first, isolated, worker, open } = await behindAnother();
    const stopped = worker.worker.stop();
    open(first);
    await clock.advance(SECOND);
    await stopped;
    expect(startedIn(worker)).toEqual([first]);
    expect(await queue.get(isolated)).toMatchObject({
      status: 'pending',
      attempts: 2,
      crashes: 2,
      interruptions: 1,
    });
  });

  it('is released by an uncaught error of the process, and waits again if the process lives on', async () => {
    const { clock, queue, first, isolated, worker, open } = await behindAnother();
    (process as EventEmitter).emit('uncaughtExceptionMonitor', new Error('left behind'), 'unhandledRejection');
    await clock.advance(SECOND);
    expect(worker.count('released', isolated)).toBe(1);
    expect(await queue.get(isolated)).toMatchObject({ status: 'processing', attempts: 3, interruptions: 1 });
    [first, isolated].forEach(open);
    await clock.advance(6 * SECOND);
    expect(await queue.get(isolated)).toMatchObject({ status: 'completed', crashes: 2 });
  });
});
