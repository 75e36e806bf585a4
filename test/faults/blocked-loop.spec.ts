// A handler that keeps the event loop of its process from all else, heartbeats included, for longer than its claim lasts.
import { expect, it } from '@jest/globals';
import { atMost, BACK_MS } from '../support/bounds.js';
import { WorkerProcess } from '../support/worker-process.js';
import { newQueue, startWorker } from '../support/workers.js';

const VISIBILITY_MS = 1_500;
const SWEEP_MS = 500;
const SLACK_MS = atMost(1_000);

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
