import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import { InvalidOptionError, runWorkers, type RunWorkersOptions } from 'nest-job-queue';
import { uniqueQueueName } from '../support/redis.js';
import { eventually } from '../support/wait.js';
import { FROM_TYPESCRIPT, firstStatus, isAlive, startWorkers } from './workers-app.js';

// Each test starts several apps, on a machine that also runs the other tests.
jest.setTimeout(90_000);

type Answer = { pid: number; args: string[] };
const SOON = { timeoutMs: 40_000 };

describe('worker processes', () => {
  it('are ready when the worker of each runs, and do the jobs', async () => {
    const readyFile = join(tmpdir(), uniqueQueueName('ready'));
    const command = [...FROM_TYPESCRIPT, '--region', 'north'];
    const app = startWorkers({ options: { processes: 3, name: 'shop', readyFile }, command });
    const status = await firstStatus(app);
    expect(status).toEqual(
      [1, 2, 3].map((n) => ({
        name: `shop-${n}`,
        pid: expect.any(Number),
        state: 'running',
        restarts: 0,
      })),
    );
    expect((await app.queue.stats()).workers).toBe(3);
    expect(existsSync(readyFile)).toBe(true);

    const { pid, args } = (await (await app.queue.enqueue({ do: 'answer' })).result(SOON)) as Answer;
    expect(status.map((each) => each.pid)).toContain(pid);
    expect(args).toEqual(['--region', 'north']);

    expect(await app.supervisor.kill('SIGTERM')).toBe(0);
    expect(existsSync(readyFile)).toBe(false);
    expect(status.filter((each) => isAlive(each.pid!))).toEqual([]);
  });

  it('share one log, the name in front of each line', async () => {
    const app = startWorkers({ options: { processes: 1 } });
    await (await app.queue.enqueue({ do: 'log' })).result(SOON);
    await app.supervisor.kill('SIGTERM');
    const { output } = app.supervisor;
    expect(output).toMatch(/LOG \[output\] worker-1 \| printed$/m);
    expect(output).toMatch(/LOG \[output\] worker-1 \| in two lines$/m);
    expect(output).toMatch(/WARN \[output\] worker-1 \| an error line$/m);
    // The app's own log, with its context.
    expect(output).toMatch(/LOG \[JobQueue\] worker-1 \| Worker \S+ serves/);
    // One process prints: nothing of a worker's comes by without it.
    expect(output.match(/\[Nest\] \d+/g)!.every((prefix) => prefix === output.match(/\[Nest\] \d+/)![0])).toBe(
      true,
    );
  });
});

describe('a worker process that', () => {
  it('is killed (SIGKILL) is replaced, and jobs go on', async () => {
    const app = startWorkers();
    const [first] = await firstStatus(app);
    process.kill(first!.pid!, 'SIGKILL');
    await app.supervisor.prints(/worker-1 \(\d+\) was ended by SIGKILL; it is started again in 10 ms/);
    await app.allRun(2);
    expect((await app.queue.stats()).workers).toBeGreaterThanOrEqual(2);
    await (await app.queue.enqueue({ do: 'answer' })).result(SOON);
    expect(await app.supervisor.kill('SIGTERM')).toBe(0);
  });

  it('is ended by itself (SIGTERM) finishes its job and is replaced', async () => {
    const app = startWorkers({ options: { processes: 1 } });
    const [first] = await firstStatus(app);
    const job = await app.queue.enqueue({ do: 'wait', ms: 300 });
    await app.supervisor.prints(/the job waits/);
    process.kill(first!.pid!, 'SIGTERM');
    expect(await job.result(SOON)).toMatchObject({ pid: first!.pid });
    expect(await job.get()).toMatchObject({ attempts: 1 });
    await app.supervisor.prints(/worker-1 \(\d+\) ended with code 0; it is started again/);
    await app.allRun(2);
  });

  it('dies again and again waits longer each time', async () => {
    const app = startWorkers({ options: { processes: 1, longestRestartDelayMs: 20 } });
    await app.allRun();
    for (let time = 2; time <= 4; time++) {
      await app.queue.enqueue({ do: 'exit' }, { maxAttempts: 1 });
      await app.allRun(time);
    }
    const delays = [...app.supervisor.output.matchAll(/ended with code 7; it is started again in (\d+) ms/g)];
    expect(delays.map(([, ms]) => Number(ms))).toEqual([10, 20, 20]);
  });

  it('ran long enough counts as new when it dies', async () => {
    const app = startWorkers({ options: { processes: 1, stableMs: 0 } });
    await app.allRun();
    for (let time = 2; time <= 3; time++) {
      await app.queue.enqueue({ do: 'exit' }, { maxAttempts: 1 });
      await app.allRun(time);
    }
    const delays = [...app.supervisor.output.matchAll(/ended with code 7; it is started again in (\d+) ms/g)];
    expect(delays.map(([, ms]) => Number(ms))).toEqual([10, 10]);
  });

  it('hangs is killed and replaced', async () => {
    const app = startWorkers({ options: { processes: 1, hangTimeoutMs: 1_000 } });
    const [hung] = await firstStatus(app);
    await app.queue.enqueue({ do: 'block' });
    await app.supervisor.prints(
      /worker-1 \(\d+\) was killed: its event loop gave no answer for 1000 ms; it is started again/,
    );
    expect(isAlive(hung!.pid!)).toBe(false);
    await app.allRun(2);
  });

  it('never boots is given up, with what it failed with', async () => {
    const app = startWorkers({ options: { processes: 1, maxBootFailures: 2 }, env: { TEST_FAIL_BOOT: '1' } });
    expect(await app.supervisor.exited).toBe(1);
    expect(app.supervisor.output).toMatch(
      /WorkerBootError: worker-\d did not come up in 2 tries; the last one ended with code 1: TypeError: no such thing\./,
    );
    expect(app.supervisor.output).not.toMatch(/^ready/m);
    expect(app.supervisor.output).toMatch(/All worker processes have ended/);
  });

  it('runs no handler is given up, with the reason', async () => {
    const app = startWorkers({
      options: { processes: 1, maxBootFailures: 1 },
      env: { TEST_PRODUCER_ONLY: '1' },
    });
    expect(await app.supervisor.exited).toBe(1);
    expect(app.supervisor.output).toContain('expected an app with a @JobHandler');
  });

  it('takes too long to boot is killed', async () => {
    const app = startWorkers({
      options: { processes: 1, maxBootFailures: 1, bootTimeoutMs: 4_000 },
      env: { TEST_NEVER_BOOT: '1' },
    });
    expect(await app.supervisor.exited).toBe(1);
    expect(app.supervisor.output).toContain('was killed: it did not boot within 4000 ms');
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

  it('kills what is not in time, and exits with 1', async () => {
    const app = startWorkers({ options: { processes: 2, stopTimeoutMs: 500 } });
    const status = await firstStatus(app);
    await app.queue.enqueue({ do: 'block' });
    await eventually(async () => (await app.queue.stats()).processing === 1);
    expect(await app.supervisor.kill('SIGTERM')).toBe(1);
    expect(app.supervisor.output).toMatch(/worker-[12] \(\d+\) is killed: it did not stop within 500 ms/);
    expect(app.supervisor.output).toMatch(/have ended, not in order: worker-[12]$/m);
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
    await eventually(() => status.every((each) => !isAlive(each.pid!)), SOON);
    expect(await job.get()).toMatchObject({ status: 'completed', attempts: 1 });
  });
});

/** What runWorkers says to options. */
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
