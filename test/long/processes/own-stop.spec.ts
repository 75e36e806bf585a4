// Stops that the supervisor did not ask for: of one process alone, and of all when the supervisor is gone.
import { expect, it, jest } from '@jest/globals';
import { patiently } from '../../support/faults/wait.js';
import { SOON, steerWorkers } from './steered-workers.js';
import { firstStatus, isAlive, startWorkers } from './workers-app.js';

// Each test starts several apps, on a machine that also runs the other tests.
jest.setTimeout(90_000);

const NEVER_CLOSE = { TEST_NEVER_CLOSE: '1' };

it('a process that gets a SIGTERM itself is not ready while it stops, and no other takes its place', async () => {
  const { workers, queue, events } = await steerWorkers();
  await workers.resize(1);
  await workers.whenReady();
  const job = await queue.enqueue({ do: 'wait', ms: 1_000 });
  await patiently(async () => (await queue.stats()).processing === 1);
  const pid = workers.status()[0]!.pid!;
  process.kill(pid, 'SIGTERM');
  await patiently(() => workers.status()[0]!.state === 'stopping', SOON);
  expect(workers.ready).toBe(false);
  await workers.resize(1);
  expect(workers.status()).toMatchObject([{ name: 'worker-1', pid }]);
  expect(await job.result(SOON)).toMatchObject({ pid });
  await patiently(() => workers.ready, SOON);
  expect(workers.status()).toMatchObject([{ name: 'worker-1', state: 'running', restarts: 1 }]);
  expect(events.filter(({ type }) => type === 'ended')).toMatchObject([{ code: 0, stopped: false }]);
});

it('a process that gets a SIGTERM itself, and does not stop in time, ends with 1 and is replaced', async () => {
  const { workers, happened } = await steerWorkers({ env: NEVER_CLOSE, stopTimeoutMs: 300 });
  await workers.resize(1);
  await workers.whenReady();
  process.kill(workers.status()[0]!.pid!, 'SIGTERM');
  expect(await happened('ended')).toMatchObject({ code: 1, signal: null, stopped: false, restartInMs: 10 });
  await patiently(() => workers.ready, SOON);
});

it('a process that does not stop in time ends also when the supervisor is gone', async () => {
  const app = startWorkers({ options: { processes: 1, stopTimeoutMs: 300 }, env: NEVER_CLOSE });
  const [status] = await firstStatus(app);
  process.kill(app.supervisor.pid, 'SIGKILL'); // it alone, not its children
  await patiently(() => !isAlive(status!.pid!), SOON);
});

it('a process whose supervisor goes while it still imports its entry ends too', async () => {
  const app = startWorkers({ options: { processes: 1 }, env: { TEST_LATE_IMPORT: '1' } });
  const [, pid] = await app.supervisor.prints(/importing in (\d+)/);
  process.kill(app.supervisor.pid, 'SIGKILL'); // it alone, not its children
  await patiently(() => !isAlive(Number(pid)), SOON);
});

it('a second stop with less time ends a process that the first lets continue', async () => {
  const { workers, happened } = await steerWorkers({ env: NEVER_CLOSE, stopTimeoutMs: 300 });
  await workers.resize(1);
  await workers.whenReady();
  const resized = workers.resize(0, { stopTimeoutMs: 3_600_000 });
  expect(await workers.stop()).toMatchObject({ exitCode: 1, unclean: ['worker-1'] });
  expect(await happened('ended')).toMatchObject({ killedFor: 'it did not stop within 300 ms', stopped: true });
  await resized;
});
