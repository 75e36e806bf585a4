// How many jobs of a queue run at once, changed while the worker runs.
import { expect, it } from '@jest/globals';
import { InvalidOptionError } from '#queue/errors/errors.js';
import type { Job } from '#worker/handlers/job.js';
import { eventually, gate, type Gate } from '../../support/faults/wait.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';

it('runs more at once after a rise, and fewer after a fall and running jobs', async () => {
  const queue = newQueue();
  const gates = new Map<number, Gate>();
  const running = new Set<number>();
  const handler = async ({ payload }: Job<number>) => {
    running.add(payload);
    const end: Gate = gate();
    gates.set(payload, end);
    await end.promise;
    running.delete(payload);
  };
  const { worker } = await startWorker(queue, handler, { perQueue: 1 });
  await queue.enqueueMany([0, 1, 2, 3, 4, 5].map((payload) => ({ payload })));
  await eventually(async () => running.size === 1);
  worker.setConcurrency(queue.name, 3);
  await eventually(async () => running.size === 3);
  worker.setConcurrency(queue.name, 1);
  gates.get(0)!.open();
  gates.get(1)!.open();
  await eventually(async () => running.size === 1);
  gates.get(2)!.open();
  await eventually(async () => running.has(3));
  expect([...running]).toEqual([3]);
  worker.setConcurrency(queue.name, 10);
  await eventually(async () => running.size === 3);
  gates.forEach((end) => end.open());
});

it('refuses another queue, and a value that is no number of jobs', async () => {
  const queue = newQueue();
  const { worker } = await startWorker(queue);
  expect(() => worker.setConcurrency('another', 1)).toThrow(InvalidOptionError);
  for (const wrong of [0, -1, 1.5, '3' as never, NaN]) {
    expect(() => worker.setConcurrency(queue.name, wrong)).toThrow(InvalidOptionError);
  }
});
