// What a program does with the worker processes that it supervises: the supervisor is this process.
import { describe, expect, it, jest } from '@jest/globals';
import { InvalidOptionError, type JobQueue } from 'nest-job-queue';
import { type RunWorkersOptions } from 'nest-job-queue/workers';
import { patiently } from '../../support/faults/wait.js';
import { SOON, steerWorkers, type SteeredWorkers } from './steered-workers.js';
import { isAlive } from './workers-app.js';

// Each test starts several apps, on a machine that also runs the other tests.
jest.setTimeout(90_000);

let workers: SteeredWorkers['workers'];
let queue: JobQueue;
let events: SteeredWorkers['events'];
let happened: SteeredWorkers['happened'];

async function start(options?: RunWorkersOptions): Promise<void> {
  ({ workers, queue, events, happened } = await steerWorkers(options));
}

const names = () => workers.status().map(({ name }) => name);
const pidOf = (name: string) => workers.status().find((each) => each.name === name)!.pid!;

describe('a resize', () => {
  it('starts missing processes, and stops those with the highest numbers when they are done', async () => {
    await start();
    await workers.resize(3);
    expect(names()).toEqual(['worker-1', 'worker-2', 'worker-3']);
    expect(workers.ready).toBe(false);
    expect(await workers.whenReady()).toBe(true);

    const jobs = await Promise.all([1, 2, 3].map(() => queue.enqueue({ do: 'wait', ms: 400 })));
    await patiently(async () => (await queue.stats()).processing === 3);
    const [first, ...others] = workers.status().map(({ pid }) => pid!);
    await workers.resize(1);
    expect(names()).toEqual(['worker-1']);
    expect([first!, ...others].map(isAlive)).toEqual([true, false, false]);
    for (const job of jobs) {
      await job.result(SOON);
      expect(await job.get()).toMatchObject({ attempts: 1, interruptions: 0 });
    }
    expect(workers.ready).toBe(true);
    const ends = events.filter((event) => event.type === 'ended');
    expect(ends).toMatchObject([
      { stopped: true, code: 0 },
      { stopped: true, code: 0 },
    ]);
  });

  it('kills a process that is not in time, and gives no name twice', async () => {
    await start();
    await workers.resize(1);
    await workers.whenReady();
    await queue.enqueue({ do: 'block' }, { maxAttempts: 1 });
    await patiently(async () => (await queue.stats()).processing === 1);
    const stopped = workers.resize(0, { stopTimeoutMs: 1_000 });
    expect(workers.status()).toMatchObject([{ name: 'worker-1', state: 'stopping' }]);
    void workers.resize(1);
    expect(names()).toEqual(['worker-1', 'worker-2']);
    await stopped;
    expect(names()).toEqual(['worker-2']);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'ended', signal: 'SIGKILL', killedFor: 'it did not stop within 1000 ms' }),
    );
  });

  it('waits also for those that an earlier one stops', async () => {
    await start();
    await workers.resize(1);
    await workers.whenReady();
    const job = await queue.enqueue({ do: 'wait', ms: 500 });
    await patiently(async () => (await queue.stats()).processing === 1);
    void workers.resize(0);
    await workers.resize(0);
    expect(workers.status()).toEqual([]);
    expect(await job.get()).toMatchObject({ status: 'completed' });
  });

  it('takes only a whole number from 0, and does nothing after the stop', async () => {
    await start();
    await expect(workers.resize(-1)).rejects.toThrow(InvalidOptionError);
    await expect(workers.resize(1.5)).rejects.toThrow('resize.processes: expected a whole number from 0');
    await workers.stop();
    await workers.resize(2);
    expect(workers.status()).toEqual([]);
    expect(workers.ready).toBe(false);
  });
});

it('kills one by name, and starts another in its place', async () => {
  await start();
  await workers.resize(2);
  await workers.whenReady();
  const [before, other] = [pidOf('worker-1'), pidOf('worker-2')];
  expect(workers.killOne('worker-1')).toBe(true);
  expect(await happened('ended')).toMatchObject({
    name: 'worker-1',
    pid: before,
    signal: 'SIGKILL',
    stopped: false,
    killedFor: 'this was asked for',
    restartInMs: 10,
  });
  await patiently(() => workers.ready, SOON);
  expect(pidOf('worker-1')).not.toBe(before);
  expect(pidOf('worker-2')).toBe(other);
  expect(workers.killOne('worker-7')).toBe(false);
});

describe('the events', () => {
  it('report the life of each process, in order', async () => {
    await start();
    await workers.resize(1);
    await workers.whenReady();
    await queue.enqueue({ do: 'exit' }, { maxAttempts: 1 });
    await patiently(() => events.length >= 5, SOON);
    expect(events.map(({ type }) => type)).toEqual(['started', 'running', 'ended', 'started', 'running']);
    expect(events[2]).toMatchObject({ name: 'worker-1', code: 7, signal: null, stopped: false, restartInMs: 10 });
    expect(events[0]!.pid).toBe(events[1]!.pid);
    expect(events[3]!.pid).not.toBe(events[2]!.pid);
  });

  it('have the error of a failed boot', async () => {
    await start({ env: () => ({ TEST_FAIL_BOOT: '1' }), maxBootFailures: 1 });
    await workers.resize(1);
    expect(await happened('ended')).toMatchObject({
      code: 1,
      error: { name: 'TypeError', message: 'no such thing' },
    });
    expect((await workers.ended).error).toMatchObject({ name: 'WorkerBootError' });
  });

  it('continue when a listener throws', async () => {
    await start();
    workers.events.subscribe(() => {
      throw new Error('a bug of the listener');
    });
    await workers.resize(1);
    await workers.whenReady();
    expect(events.map(({ type }) => type)).toEqual(['started', 'running']);
  });
});

it('passes messages to the apps in them and back, and gives each an environment', async () => {
  await start({ env: (name) => ({ TEST_GREETING: `I am ${name}` }) });
  await workers.resize(1);
  await workers.whenReady();
  await (await queue.enqueue({ do: 'tell' })).result(SOON);
  expect(await happened('message')).toMatchObject({ name: 'worker-1', message: { greeting: 'I am worker-1' } });
  workers.send({ ask: 'all' });
  workers.send({ ask: 'one' }, 'worker-1');
  workers.send({ ask: 'nobody' }, 'worker-2');
  await patiently(() => events.filter(({ type }) => type === 'message').length === 3, SOON);
  expect(events.slice(-2)).toMatchObject([{ message: { asked: 'all' } }, { message: { asked: 'one' } }]);
});
