// The report that an autoscaler reads: ages, depths and slots by queue.
import { expect, it } from '@jest/globals';
import { JobMetrics } from 'nest-job-queue/metrics';
import { gate } from '../support/faults/wait.js';
import { newQueue, startWorker } from '../support/worker/workers.js';

it('has the age of the oldest job that may run, waiting and running jobs, and the slots of the workers', async () => {
  const queue = newQueue();
  const end = gate();
  const worker = await startWorker(queue, () => end.promise, { perQueue: 2 });
  for (let i = 0; i < 3; i++) await queue.enqueue(i, { name: queue.name });
  await worker.event('started');
  await worker.event('started');
  const metrics = new JobMetrics({ queues: [queue] });
  const { [queue.name]: report } = await metrics.scalingReport();
  expect(report!.waiting + report!.running).toBe(3);
  expect(report).toMatchObject({ slots: 2, oldestAgeSeconds: expect.any(Number) as unknown });
  expect(report!.running).toBeGreaterThanOrEqual(2);
  end.open();
});

it('is 0 for an idle queue, and leaves out one whose Redis does not reply', async () => {
  const idle = newQueue();
  const away = { name: '__proto__', stats: () => Promise.reject(new Error('away')) };
  const metrics = new JobMetrics({ queues: [idle, away] });
  expect(await metrics.scalingReport()).toEqual({
    [idle.name]: { oldestAgeSeconds: 0, waiting: 0, running: 0, slots: 0 },
  });
});
