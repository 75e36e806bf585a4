// An isolated job has crashed its workers, and another crash makes it a dead letter. It runs alone.
import { describe, expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { enqueueIsolated } from '../../support/worker/isolated-jobs.js';
import { eventually, gate, sleep, type Gate } from '../../support/faults/wait.js';
import { newQueue, startWorker, type TestWorker } from '../../support/worker/workers.js';
import { inside } from '../../support/queue/inside.js';

/** Shows that nothing happens, which sends no signal. An idle worker would start an enqueued job much sooner. */
const waitInVain = () => sleep(150);

/** Makes handlers that end when their job's gate opens. */
function gates() {
  const byId = new Map<string, Gate>();
  const of = (id: string) => byId.get(id) ?? byId.set(id, gate()).get(id)!;
  return { handle: (job: { id: string }) => of(job.id).promise, open: (id: string) => of(id).open() };
}

/** Starts a worker of two queues, the first with an isolated job behind a running one. */
async function workerOfTwo(handle: (job: { id: string }) => Promise<void>) {
  const [queue, other] = [newQueue(), newQueue()];
  const [isolated = ''] = await enqueueIsolated(queue);
  const first = await queue.enqueue({});
  const serve = (each: JobQueue) => ({ queue: each, concurrency: 4, handlers: { [each.name]: handle } });
  const worker = await startWorker([serve(queue), serve(other)]);
  await worker.event('started', 1, { id: first.id });
  return { queue, other, isolated, first, worker };
}

const startedIn = (worker: TestWorker) =>
  worker.events.filter(({ type }) => type === 'started').map(({ job }) => job.id);

describe('an isolated job', () => {
  it('begins when nothing else runs, and nothing else begins while it runs, in any queue of the worker', async () => {
    const { handle, open } = gates();
    const { queue, other, isolated, first, worker } = await workerOfTwo(handle);
    const later = [await queue.enqueue({}), await other.enqueue({})];
    await waitInVain();
    expect(startedIn(worker)).toEqual([first.id]);
    open(first.id);
    await worker.event('started', 1, { id: isolated });
    await waitInVain();
    expect(startedIn(worker)).toEqual([first.id, isolated]);
    open(isolated);
    for (const { id } of later) {
      await worker.event('started', 1, { id });
      open(id);
    }
    expect(await queue.get(isolated)).toMatchObject({ status: 'completed', attempts: 3, crashes: 2 });
  });

  it('keeps the worker from other jobs no longer than the visibility timeout, before it begins and after', async () => {
    const queue = newQueue({ visibilityMs: 300 });
    const { handle, open } = gates();
    const [isolated = ''] = await enqueueIsolated(queue);
    const first = await queue.enqueue({});
    const worker = await startWorker(queue, handle, { perQueue: 4 });
    await worker.event('started', 1, { id: first.id });
    const later = await queue.enqueue({});
    await worker.event('started', 1, { id: later.id });
    expect(startedIn(worker)).toEqual([first.id, isolated, later.id]);
    [isolated, first.id, later.id].forEach(open);
    await worker.event('completed', 3);
  });

  it('keeps its claim while it waits', async () => {
    const queue = newQueue({ visibilityMs: 3_000 });
    const { handle, open } = gates();
    const [isolated = ''] = await enqueueIsolated(queue);
    const first = await queue.enqueue({});
    const worker = await startWorker(queue, handle, { perQueue: 4 });
    await worker.event('started', 1, { id: first.id });
    const { keys } = await inside(queue).scripts();
    const expiry = async () => Number(await inside(queue).connection.client.zscore(keys.claims, isolated));
    const claimedUntil = await expiry();
    await eventually(async () => (await expiry()) > claimedUntil, { timeoutMs: 2_000 }); // after 3 s it starts beside the first
    expect(startedIn(worker)).toEqual([first.id]);
    [first.id, isolated].forEach(open);
    await worker.event('completed', 2);
  });

  it('waits for its turn among other isolated jobs', async () => {
    const queue = newQueue();
    const { handle, open } = gates();
    const ids = await enqueueIsolated(queue, 2);
    const worker = await startWorker(queue, handle, { perQueue: 4 });
    await worker.event('started');
    await waitInVain();
    expect(startedIn(worker)).toEqual(ids.slice(0, 1));
    open(ids[0]!);
    await worker.event('started', 2);
    open(ids[1]!);
    await worker.event('completed', 2);
  });

  it('is released by a local pause of its queue that comes first, and by none of another', async () => {
    const { handle, open } = gates();
    const { queue, other, isolated, first, worker } = await workerOfTwo(handle);
    worker.worker.pause(other.name);
    await waitInVain();
    expect(await queue.get(isolated)).toMatchObject({ status: 'processing' });
    worker.worker.pause(queue.name);
    await worker.event('released', 1, { id: isolated });
    open(first.id);
    await worker.event('completed', 1, { id: first.id });
    expect(startedIn(worker)).toEqual([first.id]);
    expect(await queue.get(isolated)).toMatchObject({ status: 'pending', attempts: 2, interruptions: 1 });
    worker.worker.resume();
    await worker.event('started', 1, { id: isolated });
    open(isolated);
    await worker.event('completed', 1, { id: isolated });
  });

  it('is released by a stop that comes first, and is not charged', async () => {
    const queue = newQueue();
    const { handle, open } = gates();
    const [isolated = ''] = await enqueueIsolated(queue);
    const first = await queue.enqueue({});
    const worker = await startWorker(queue, handle, { perQueue: 4 });
    await worker.event('started', 1, { id: first.id });
    const stopped = worker.worker.stop();
    await worker.event('released', 1, { id: isolated });
    open(first.id);
    await stopped;
    expect(startedIn(worker)).toEqual([first.id]);
    expect(await queue.get(isolated)).toMatchObject({
      status: 'pending',
      attempts: 2,
      crashes: 2,
      interruptions: 1,
    });
  });
});
