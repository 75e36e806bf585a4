// A worker repeats its announcement, and sees at intervals whether its queues still have all of it.
import { afterEach, expect, it, jest } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { ScriptStore } from '#memory/script-store.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import type { WorkerReports } from '#worker/maintenance/worker-reports.js';
import type { QueueRunner } from '#worker/runner/queue-runner.js';
import { Worker } from '#worker/worker.js';

/** A purge lets an announcement expire after this time, in ms. */
const STAYS_MS = 300_000;

const clock = new VirtualClock();
let worker: Worker;

afterEach(async () => {
  const stopping = worker.stop({ timeoutMs: 0 });
  await clock.advance(1_000);
  await stopping;
});

/** Starts a worker of one queue, whose announcements are counted. */
async function startSpied() {
  const store = new ScriptStore(clock);
  const queue = new JobQueue(store, 'mail');
  const [renew, register] = [jest.spyOn(store.queues, 'renew'), jest.spyOn(store.queues, 'register')];
  worker = new Worker([{ queue, concurrency: 1, handlers: { mail: () => undefined } }], { sweepIntervalMs: 0 });
  const starting = worker.start();
  await clock.advance(10);
  await starting;
  return { queue, renew, register };
}

it('is checked as a whole before the end of the time that a purge leaves it', async () => {
  const { queue, renew } = await startSpied();
  await clock.advance(STAYS_MS);
  const renewals = renew.mock.calls.filter(([queues]) => queues.length > 0);
  const checks = renewals.filter(([, renewal]) => renewal.checks);
  expect(renewals.length).toBeGreaterThan(10);
  expect(checks.length).toBeGreaterThan(0);
  expect(checks.length).toBeLessThan(renewals.length / 2);
  await clock.advance(2 * STAYS_MS);
  expect(await queue.workers()).toMatchObject([{ pid: process.pid }]); // the details of a worker last for ten minutes
});

it('adds its queues to the register again after Redis has lost its data', async () => {
  const { renew, register } = await startSpied();
  await clock.advance(STAYS_MS);
  expect(register).toHaveBeenCalledTimes(1);
  renew.mockImplementation((queues) =>
    Promise.resolve(queues.map(() => ({ ok: true, reply: { isKnown: false } }))),
  );
  await clock.advance(30_000);
  expect(register.mock.calls.length).toBeGreaterThan(1);
});

it('adds a queue to the register again if a claim finds that Redis has lost its limits', async () => {
  const { register } = await startSpied();
  await clock.advance(10);
  expect(register).toHaveBeenCalledTimes(1);
  const { runners, reports } = worker as unknown as { runners: QueueRunner[]; reports: WorkerReports };
  reports.announce(runners[0]!); // as such a claim does
  await clock.advance(20_000);
  expect(register).toHaveBeenCalledTimes(2);
});

it('ends the limits of an older worker that has stopped, which its own code has no more', async () => {
  const { queue } = await startSpied();
  const older = new JobQueue(queue.store, 'mail', { maxRunning: 1 });
  await older.exec((calls) => calls.workers.register({ worker: 'older', serves: true, handlers: [] }));
  expect(await queue.limits.get()).toEqual({ source: 'configuration', maxRunning: 1 });
  await older.exec((calls) => calls.workers.register({ worker: 'older', serves: false, handlers: [] }));
  await clock.advance(150_000);
  expect(await queue.limits.get()).toEqual({ source: 'none' });
});
