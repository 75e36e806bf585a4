import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import { InvalidOptionError } from 'nest-job-queue';
import { runWorkers, type RunWorkersOptions } from 'nest-job-queue/workers';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { patiently, sleep } from '../../support/faults/wait.js';
import { FROM_TYPESCRIPT, firstStatus, isAlive, startWorkers } from './workers-app.js';

// Each test starts several apps, on a machine that also runs the other tests.
jest.setTimeout(90_000);

type Reply = { pid: number; args: string[]; metadata: Record<string, string> };
const SOON = { timeoutMs: 40_000 };

it('from TypeScript, worker processes are ready when the worker of each runs, do the jobs, and share one log', async () => {
  const readyFile = join(tmpdir(), uniqueQueueName('ready'));
  const command = [...FROM_TYPESCRIPT, '--region', 'north'];
  const app = startWorkers({ options: { processes: 3, name: 'shop', readyFile }, command });
  const status = await firstStatus(app);
  expect(status).toEqual(
    [1, 2, 3].map((n) => ({ name: `shop-${n}`, pid: expect.any(Number), state: 'running', restarts: 0 })),
  );
  expect((await app.queue.stats()).workers).toBe(3);
  expect(existsSync(readyFile)).toBe(true);

  const sent = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', tenant: 'acme' };
  const job = await app.queue.enqueue({ do: 'answer' }, { metadata: sent });
  const { pid, args, metadata } = (await job.result(SOON)) as Reply;
  expect(status.map((each) => each.pid)).toContain(pid);
  expect(args).toEqual(['--region', 'north']);
  expect(metadata).toEqual(sent);
  await (await app.queue.enqueue({ do: 'log' })).result(SOON);

  expect(await app.supervisor.kill('SIGTERM')).toBe(0);
  expect(existsSync(readyFile)).toBe(false);
  expect(status.filter((each) => isAlive(each.pid!))).toEqual([]);
  const { output } = app.supervisor;
  expect(output).toMatch(/LOG \[output\] shop-\d \| printed$/m);
  expect(output).toMatch(/LOG \[output\] shop-\d \| in two lines$/m);
  expect(output).toMatch(/WARN \[output\] shop-\d \| an error line$/m);
  // The app's own log, with its context.
  expect(output).toMatch(/LOG \[JobQueue\] shop-1 \| Worker \S+ serves/);
  // One process prints: nothing of a worker's comes by without it.
  expect(new Set(output.match(/\[Nest\] \d+/g)).size).toBe(1);
});

it('a follow-up in a worker process reads the results of its batch', async () => {
  const app = startWorkers({ options: { processes: 2 } });
  const pids = (await firstStatus(app)).map((each) => each.pid);
  const { name } = app.queue;
  const batch = app.queue.batch({ id: 'sum', then: { name, payload: { do: 'sum up' } } });
  const [one, two] = await batch.addMany(name, [{ payload: { do: 'answer' } }, { payload: { do: 'answer' } }]);
  await batch.seal();
  await batch.wait(SOON); // the follow-up is there once all members have ended
  const sum = (await app.queue.result('@batch:sum:then', SOON)) as Record<string, unknown>;
  expect(pids).toContain(sum['pid']);
  expect(sum).toMatchObject({
    batch: 'sum',
    first: { id: one!.id, status: 'completed', result: { pid: expect.any(Number), args: [], metadata: {} } },
    next: expect.anything(),
    ids: [`${one!.id} completed`, `${two!.id} completed`],
  });
  expect(pids).toContain((sum['first'] as { result: Reply }).result.pid);
  expect(await app.supervisor.kill('SIGTERM')).toBe(0);
});

describe('a worker process that', () => {
  it('is killed, is ended by itself, dies or hangs is replaced each time, later each time, and jobs continue', async () => {
    const options = { processes: 1, longestRestartDelayMs: 30, hangTimeoutMs: 2_000 };
    const app = startWorkers({ options });
    const [first] = await firstStatus(app);
    process.kill(first!.pid!, 'SIGKILL');
    await app.supervisor.prints(/worker-1 \(\d+\) was ended by SIGKILL; restarting it in 10 ms/);
    await app.allRun(2);

    const { pid } = (await (await app.queue.enqueue({ do: 'answer' })).result(SOON)) as Reply;
    expect(pid).not.toBe(first!.pid);
    const job = await app.queue.enqueue({ do: 'wait', ms: 300 });
    await app.supervisor.prints(/the job waits/);
    process.kill(pid, 'SIGTERM');
    expect(await job.result(SOON)).toMatchObject({ pid });
    expect(await job.get()).toMatchObject({ attempts: 1 });
    await app.supervisor.prints(/worker-1 \(\d+\) ended with code 0; restarting it in 20 ms/);
    await app.allRun(3);

    await app.queue.enqueue({ do: 'exit' }, { maxAttempts: 1 });
    await app.supervisor.prints(/worker-1 \(\d+\) ended with code 7; restarting it in 30 ms/);
    await app.allRun(4);

    await app.queue.enqueue({ do: 'block' }, { maxAttempts: 1 });
    const [, hung] = await app.supervisor.prints(
      /worker-1 \((\d+)\) was killed: its event loop gave no answer for 2000 ms; restarting it in 30 ms/,
    );
    expect(isAlive(Number(hung))).toBe(false);
    await app.allRun(5);
  });

  it('ran long enough counts as new when it dies', async () => {
    const app = startWorkers({ options: { processes: 1, stableMs: 0 } });
    await app.allRun();
    for (let time = 2; time <= 3; time++) {
      await app.queue.enqueue({ do: 'exit' }, { maxAttempts: 1 });
      await app.allRun(time);
    }
    const delays = [...app.supervisor.output.matchAll(/ended with code 7; restarting it in (\d+) ms/g)];
    expect(delays.map(([, ms]) => Number(ms))).toEqual([10, 10]);
  });

  it('never boots is given up, with the error of its boot', async () => {
    const app = startWorkers({ options: { processes: 1, maxBootFailures: 2 }, env: { TEST_FAIL_BOOT: '1' } });
    expect(await app.supervisor.exited).toBe(1);
    expect(app.supervisor.output).toMatch(
      /WorkerBootError: worker-\d failed to boot 2 times; the last process ended with code 1: TypeError: no such thing\./,
    );
    expect(app.supervisor.output).not.toMatch(/^ready/m);
    expect(app.supervisor.output).toMatch(/All worker processes have ended/);
  });

  it.each([
    ['runs no handler', 'TEST_PRODUCER_ONLY', {}, 'expected an app with a @JobHandler'],
    [
      'takes too long to boot',
      'TEST_NEVER_BOOT',
      { bootTimeoutMs: 500 },
      'was killed: it did not boot within 500 ms',
    ],
  ])('%s is given up, with the reason', async (_, variable, more, reason) => {
    const app = startWorkers({
      options: { processes: 1, maxBootFailures: 1, ...more },
      env: { [variable]: '1' },
    });
    expect(await app.supervisor.exited).toBe(1);
    expect(app.supervisor.output).toContain(reason);
  });
});

describe('a stop', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('by %s lets a running job finish, and exits with 0', async (signal) => {
    const app = startWorkers({ options: { processes: 1 } });
    await app.allRun();
    const job = await app.queue.enqueue({ do: 'wait', ms: 500 });
    await app.supervisor.prints(/the job waits/);
    expect(await app.supervisor.kill(signal)).toBe(0);
    expect(app.supervisor.output).toMatch(/the job is done/);
    expect(await job.get()).toMatchObject({ status: 'completed', attempts: 1, interruptions: 0 });
  });

  it('by a second Ctrl-C ends at once, whatever still runs, and exits with 1; one that comes at once is the first again', async () => {
    // The job and the app would take far longer than a user waits.
    const app = startWorkers({ options: { processes: 1, stopTimeoutMs: 600_000 }, env: { TEST_NEVER_CLOSE: '1' } });
    const [status] = await firstStatus(app);
    const { pid } = app.supervisor;
    process.kill(pid, 'SIGINT');
    process.kill(pid, 'SIGINT');
    await app.supervisor.prints(/closing, without an end/);
    await sleep(1_500); // what counts as impatience is more than a second
    expect(isAlive(status!.pid!)).toBe(true);
    const asked = performance.now();
    expect(await app.supervisor.kill('SIGINT')).toBe(1);
    expect(performance.now() - asked).toBeLessThan(5_000);
    expect(app.supervisor.output).toMatch(/have ended, some with an error: worker-1$/m);
    expect(isAlive(status!.pid!)).toBe(false);
  });

  it('kills a process that is not in time, and exits with 1', async () => {
    // Time enough for the other one, also on a busy machine.
    const app = startWorkers({ options: { processes: 2, stopTimeoutMs: 1_500 } });
    const status = await firstStatus(app);
    await app.queue.enqueue({ do: 'block' });
    await patiently(async () => (await app.queue.stats()).processing === 1);
    expect(await app.supervisor.kill('SIGTERM')).toBe(1);
    expect(app.supervisor.output).toMatch(/Killing worker-[12] \(\d+\): it did not stop within 1500 ms/);
    expect(app.supervisor.output).toMatch(/have ended, some with an error: worker-[12]$/m);
    expect(status.filter((each) => isAlive(each.pid!))).toEqual([]);
  });

  it('while the processes boot ends them at once', async () => {
    const app = startWorkers({ options: { processes: 1 }, env: { TEST_NEVER_BOOT: '1' } });
    await app.supervisor.prints(/booting, without an end/);
    expect(await app.supervisor.kill('SIGTERM')).toBe(0);
    expect(app.supervisor.output).not.toMatch(/^ready/m);
  });

  it('follows the death of the supervisor: a job is finished, no process is left', async () => {
    const app = startWorkers({ options: { processes: 2 } });
    const status = await firstStatus(app);
    const job = await app.queue.enqueue({ do: 'wait', ms: 500 });
    await app.supervisor.prints(/the job waits/);
    process.kill(app.supervisor.pid, 'SIGKILL'); // it alone, not its children
    await patiently(() => status.every((each) => !isAlive(each.pid!)), SOON);
    expect(await job.get()).toMatchObject({ status: 'completed', attempts: 1 });
  });
});

/** Returns the message with which runWorkers refuses options. */
async function refused(options: object): Promise<string> {
  const error: unknown = await runWorkers(class {}, options as RunWorkersOptions).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(InvalidOptionError);
  return (error as Error).message;
}

it('refuses bad options', async () => {
  expect(await refused({ processes: -1 })).toBe(
    'runWorkers.processes: expected a whole number from 0 to 1000, found -1.',
  );
  expect(await refused({ proceses: 4 })).toContain('Did you mean');
  expect(await refused({ hangTimeoutMs: 10 })).toContain('runWorkers.hangTimeoutMs: expected 0 or');
  expect(await refused({ name: 'a b' })).toContain('runWorkers.name');
  expect(await refused({ entry: './worker.js' })).toContain('a file URL or an absolute path');
  expect(await refused({ entry: '/nowhere/worker.js' })).toContain('a file that exists');
});
