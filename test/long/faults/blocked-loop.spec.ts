// A handler that blocks the event loop of its process, heartbeats included, for longer than its claim lasts.
import { expect, it } from '@jest/globals';
import { BACK_MS } from '../../support/queue/bounds.js';
import { WorkerProcess } from '../../support/worker/worker-process.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';

const VISIBILITY_MS = 1_500;
const SWEEP_MS = 500;
const SLACK_MS = 2_000;

it('a prefetched job that another worker took meanwhile does not begin', async () => {
  const queue = newQueue({ visibilityMs: VISIBILITY_MS });
  const handles = await queue.enqueueMany([{ payload: 'block' }, { payload: 1 }, { payload: 2 }]);
  const blocked = await WorkerProcess.start({
    queue: queue.name,
    queueOptions: { visibilityMs: VISIBILITY_MS },
    slots: { concurrency: 1, prefetch: 2 },
    workerOptions: { sweepIntervalMs: 0 },
    workMs: 10,
    blockMs: 3 * VISIBILITY_MS,
  });
  await blocked.event('started');
  const heir = await startWorker(queue, undefined, { sweepIntervalMs: SWEEP_MS });
  await heir.event('completed', 3);
  await heir.worker.stop();
  const next = await queue.enqueue('next');
  await blocked.event('completed');
  const lost = blocked.events.filter(({ type }) => type === 'lost').map(({ id }) => id);
  expect(lost.toSorted()).toEqual(handles.map(({ id }) => id).toSorted());
  const started = blocked.events.filter(({ type }) => type === 'started').map(({ id }) => id);
  expect(started).toEqual([handles[0]!.id, next.id]);
}, 60_000);

it('another runs the job within visibility timeout + sweep interval + 1 s; it is recorded once, and the first works on', async () => {
  const queue = newQueue({ visibilityMs: VISIBILITY_MS });
  const blocked = await WorkerProcess.start({
    queue: queue.name,
    queueOptions: { visibilityMs: VISIBILITY_MS },
    workerOptions: { sweepIntervalMs: SWEEP_MS },
    workMs: 10,
    blockMs: 3 * VISIBILITY_MS,
  });
  const { id } = await queue.enqueue('block');
  await blocked.event('started');
  const blockedAt = performance.now();
  const heir = await startWorker(queue, () => 'by the heir', { sweepIntervalMs: SWEEP_MS });
  await heir.event('started');
  expect(performance.now() - blockedAt).toBeLessThan(VISIBILITY_MS + SWEEP_MS + SLACK_MS);
  await heir.event('completed');
  await heir.worker.stop();
  await blocked.event('lost');
  const unblockedAt = performance.now();
  expect(await queue.get(id)).toMatchObject({
    status: 'completed',
    result: 'by the heir',
    attempts: 2,
    crashes: 1,
  });
  expect((await queue.stats()).totals).toMatchObject({ completed: 1, reclaimed: 1, enqueued: 1 });
  await queue.enqueue('next');
  await blocked.event('completed');
  expect(performance.now() - unblockedAt).toBeLessThan(BACK_MS);
}, 60_000);
