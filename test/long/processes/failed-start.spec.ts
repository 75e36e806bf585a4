// Starts that come to nothing: the process cannot be made, or ends before it says a word.
import { describe, expect, it, jest } from '@jest/globals';
import type { WorkerProcessEvent } from 'nest-job-queue/workers';
import { patiently } from '../../support/faults/wait.js';
import { SOON, steerWorkers } from './steered-workers.js';
import { startWorkers } from './workers-app.js';

// Each test starts several apps, on a machine that also runs the other tests.
jest.setTimeout(90_000);

/** An argument longer than Linux allows: fork throws E2BIG. */
const TOO_LONG = 'x'.repeat(256 * 1_024);

const endsOf = (events: WorkerProcessEvent[]) => events.filter(({ type }) => type === 'ended');

const REASONS: [string, () => Record<string, string>, object][] = [
  ['that cannot be forked', () => ({ TOO_LONG }), { message: expect.stringContaining('spawn E2BIG') }],
  [
    'whose environment cannot be made',
    () => {
      throw new TypeError('no such environment');
    },
    { name: 'TypeError', message: 'no such environment' },
  ],
];

describe.each(REASONS)('a process %s', (_, env, error) => {
  it('is tried again, then all are given up', async () => {
    const { workers, events } = await steerWorkers({ env, maxBootFailures: 2 });
    await workers.resize(1);
    await expect(workers.whenReady()).rejects.toMatchObject({ name: 'WorkerBootError', tries: 2, error });
    expect(endsOf(events)).toMatchObject([{ code: null, signal: null, error, restartInMs: 10 }, { error }]);
    expect(await workers.ended).toMatchObject({ exitCode: 1, error: { tries: 2 } });
  });

  it('at a restart is tried again, while the others run', async () => {
    const starts: string[] = [];
    const { workers, events } = await steerWorkers({
      env: (name) => (starts.push(name) === 3 ? env() : {}),
    });
    await workers.resize(2);
    await workers.whenReady();
    workers.killOne('worker-2');
    await patiently(() => endsOf(events).length === 2, SOON);
    expect(endsOf(events)[1]).toMatchObject({ name: 'worker-2', pid: undefined, error, restartInMs: 20 });
    await patiently(() => workers.ready, SOON);
    expect(starts).toEqual(['worker-1', 'worker-2', 'worker-2', 'worker-2']);
  });
});

it('a process that ends while its entry file is read is given up', async () => {
  const options = { processes: 1, maxBootFailures: 2 };
  const app = startWorkers({ options, env: { TEST_FAIL_IMPORT: '1' } });
  expect(await app.supervisor.exited).toBe(1);
  expect(app.supervisor.output).toContain('worker-1 | TypeError: no such import');
  expect(app.supervisor.output).toMatch(/worker-1 \(\d+\) ended with code 1; restarting it in 10 ms/);
  expect(app.supervisor.output).toContain('failed to boot 2 times; the last process ended with code 1: its output');
});

it('a process whose queues are in its memory is given up', async () => {
  const app = startWorkers({ options: { processes: 1, maxBootFailures: 1 }, env: { REDIS_URL: 'memory' } });
  expect(await app.supervisor.exited).toBe(1);
  expect(app.supervisor.output).toContain("runWorkers: expected queues on a Redis server, found redis: 'memory'");
});

it('a process that boots at the third try is tried later each time, and its failures are forgotten', async () => {
  let tries = 0;
  const { workers, events } = await steerWorkers({
    env: () => ({ TEST_FAIL_BOOT: ++tries < 3 ? '1' : '' }),
    maxBootFailures: 3,
  });
  await workers.resize(1);
  expect(await workers.whenReady()).toBe(true);
  expect(endsOf(events)).toMatchObject([{ restartInMs: 10 }, { restartInMs: 20 }]);
  expect(workers.status()).toMatchObject([{ state: 'running', restarts: 2 }]);
  expect(tries).toBe(3);
});
