import { expect, it, jest } from '@jest/globals';
import { DyingWorkers } from '../support/worker/dying-workers.js';

// Processes are started, on a machine that also runs the other tests.
jest.setTimeout(90_000);

it('the jobs of a killed process run again at once: in a sibling with free slots, else in its successor', async () => {
  const fleet = new DyingWorkers();
  await fleet.start();
  await fleet.fill();
  await fleet.workers.resize(2);
  await fleet.allRun();

  // Claims expire after 30 s. The bound leaves room for a busy machine.
  expect(await fleet.kill('worker-1')).toBeLessThan(5_000);
  expect(new Set(await fleet.pids())).toEqual(new Set([fleet.pidOf('worker-2')]));
  const [job] = await fleet.queue.list('processing', { limit: 1 });
  expect(job).toMatchObject({ attempts: 2, crashes: 1 });
  expect(job!.attemptLog[0]).toMatchObject({
    outcome: 'crash',
    error: { message: expect.stringMatching(/^worker process ended \(worker \S+\)$/) },
  });

  // Stops worker-2, which releases its jobs.
  await fleet.workers.resize(1);
  await fleet.allRun();
  await fleet.until(
    async () => (await fleet.pids()).filter((pid) => pid === fleet.pidOf('worker-1')).length === 10,
  );
  expect(await fleet.kill('worker-1')).toBeLessThan(20_000); // its successor boots first
});
