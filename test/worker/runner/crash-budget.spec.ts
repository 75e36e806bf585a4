// A job that has crashed its workers, and that another crash would bury, runs alone.
import { describe, expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { onLastChance } from '../../support/worker/crash-budget.js';
import { eventually, gate, sleep, type Gate } from '../../support/faults/wait.js';
import { newQueue, startWorker, type TestWorker } from '../../support/worker/workers.js';
import { inside } from '../../support/queue/inside.js';

/** Long enough for an idle worker to start what was enqueued. */
const LONGER_THAN_A_CLAIM_MS = 150;

/** Handlers that end when their job's gate opens. */
function gates() {
  const byId = new Map<string, Gate>();
  const of = (id: string) => byId.get(id) ?? byId.set(id, gate()).get(id)!;
  return { handle: (job: { id: string }) => of(job.id).promise, open: (id: string) => of(id).open() };
}

/** A worker of two queues, the first with a job on its last chance behind one that runs. */
async function workerOfTwo(handle: (job: { id: string }) => Promise<void>) {
  const [queue, other] = [newQueue(), newQueue()];
  const [suspect = ''] = await onLastChance(queue);
  const first = await queue.enqueue({});
  const serve = (each: JobQueue) => ({ queue: each, concurrency: 4, handlers: { [each.name]: handle } });
  const worker = await startWorker([serve(queue), serve(other)]);
  await worker.event('started', 1, { id: first.id });
  return { queue, other, suspect, first, worker };
}

const startedIn = (worker: TestWorker) =>
  worker.events.filter(({ type }) => type === 'started').map(({ job }) => job.id);

describe('a job on its last chance', () => {
  it('begins when nothing else runs, and nothing else begins while it runs, in any queue of the worker', async () => {
    const { handle, open } = gates();
    const { queue, other, suspect, first, worker } = await workerOfTwo(handle);
    const later = [await queue.enqueue({}), await other.enqueue({})];
    await sleep(LONGER_THAN_A_CLAIM_MS);
    expect(startedIn(worker)).toEqual([first.id]);
    open(first.id);
    await worker.event('started', 1, { id: suspect });
    await sleep(LONGER_THAN_A_CLAIM_MS);
    expect(startedIn(worker)).toEqual([first.id, suspect]);
    open(suspect);
    for (const { id } of later) {
      await worker.event('started', 1, { id });
      open(id);
    }
    expect(await queue.get(suspect)).toMatchObject({ status: 'completed', attempts: 3, crashes: 2 });
  });

  it('keeps the worker from other jobs no longer than the visibility timeout, before it begins and after', async () => {
    const queue = newQueue({ visibilityMs: 300 });
    const { handle, open } = gates();
    const [suspect = ''] = await onLastChance(queue);
    const first = await queue.enqueue({});
    const worker = await startWorker(queue, handle, { perQueue: 4 });
    await worker.event('started', 1, { id: first.id });
    const later = await queue.enqueue({});
    await worker.event('started', 1, { id: later.id });
    expect(startedIn(worker)).toEqual([first.id, suspect, later.id]);
    [suspect, first.id, later.id].forEach(open);
    await worker.event('completed', 3);
  });

  it('keeps its claim while it waits', async () => {
    const queue = newQueue({ visibilityMs: 3_000 });
    const { handle, open } = gates();
    const [suspect = ''] = await onLastChance(queue);
    const first = await queue.enqueue({});
    const worker = await startWorker(queue, handle, { perQueue: 4 });
    await worker.event('started', 1, { id: first.id });
    const { keys } = await inside(queue).scripts();
    const expiry = async () => Number(await inside(queue).connection.client.zscore(keys.claims, suspect));
    const claimedUntil = await expiry();
    await eventually(async () => (await expiry()) > claimedUntil, { timeoutMs: 2_000 }); // after 3 s it begins beside
    expect(startedIn(worker)).toEqual([first.id]);
    [first.id, suspect].forEach(open);
    await worker.event('completed', 2);
  });

  it('waits for its turn among others of its kind', async () => {
    const queue = newQueue();
    const { handle, open } = gates();
    const ids = await onLastChance(queue, 2);
    const worker = await startWorker(queue, handle, { perQueue: 4 });
    await worker.event('started');
    await sleep(LONGER_THAN_A_CLAIM_MS);
    expect(startedIn(worker)).toEqual(ids.slice(0, 1));
    open(ids[0]!);
    await worker.event('started', 2);
    open(ids[1]!);
    await worker.event('completed', 2);
  });

  it('is released by a local pause of its queue that comes first, and by none of another', async () => {
    const { handle, open } = gates();
    const { queue, other, suspect, first, worker } = await workerOfTwo(handle);
    worker.worker.pause(other.name);
    await sleep(LONGER_THAN_A_CLAIM_MS);
    expect(await queue.get(suspect)).toMatchObject({ status: 'processing' });
    worker.worker.pause(queue.name);
    await worker.event('released', 1, { id: suspect });
    open(first.id);
    await worker.event('completed', 1, { id: first.id });
    expect(startedIn(worker)).toEqual([first.id]);
    expect(await queue.get(suspect)).toMatchObject({ status: 'pending', attempts: 2, interruptions: 1 });
    worker.worker.resume();
    await worker.event('started', 1, { id: suspect });
    open(suspect);
    await worker.event('completed', 1, { id: suspect });
  });

  it('is released by a stop that comes first, and is not charged', async () => {
    const queue = newQueue();
    const { handle, open } = gates();
    const [suspect = ''] = await onLastChance(queue);
    const first = await queue.enqueue({});
    const worker = await startWorker(queue, handle, { perQueue: 4 });
    await worker.event('started', 1, { id: first.id });
    const stopped = worker.worker.stop();
    await worker.event('released', 1, { id: suspect });
    open(first.id);
    await stopped;
    expect(startedIn(worker)).toEqual([first.id]);
    expect(await queue.get(suspect)).toMatchObject({
      status: 'pending',
      attempts: 2,
      crashes: 2,
      interruptions: 1,
    });
  });
});
