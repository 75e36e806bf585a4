import { expect, it, jest } from '@jest/globals';
import { DyingWorkers } from '../support/worker/dying-workers.js';
import { patiently } from '../support/faults/wait.js';

// Processes are started, and learn of a request within 20 s.
jest.setTimeout(120_000);

it('a worker process measures a job, and one of two processes does', async () => {
  const fleet = new DyingWorkers();
  const { queue } = fleet;
  await fleet.start({ processes: 2 });
  await fleet.allRun();
  await queue.profiles.request({ forMs: 100 });
  const { askedAt } = (await queue.profiles.get())!;
  const haveLearned = async () => (await queue.workers()).every(({ seenAt }) => seenAt > askedAt);
  await patiently(haveLearned, { timeoutMs: 60_000 }); // the renewal of an announcement brings the request
  await queue.enqueue({});
  await patiently(async () => (await queue.profiles.get())?.state === 'done');
  const { record, json } = await queue.profiles.download();
  const pids = [fleet.pidOf('worker-1'), fleet.pidOf('worker-2')];
  expect(pids).toContain(Number(record.worker?.split(':').at(-2)));
  expect(JSON.parse(json)).toHaveProperty('nodes');
});
