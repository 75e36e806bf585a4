// The history through its public call, against what really happened.
import { beforeEach, expect, it } from '@jest/globals';
import { InvalidOptionError } from '#queue/errors/errors.js';
import { silentLogger } from '#queue/runtime/logger.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import { Sweeper } from '#worker/maintenance/sweeper.js';
import { connectClocked } from '../../support/redis/clocked-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { eventually, sleep } from '../../support/faults/wait.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';
import { openedQueue } from '../../support/queue/core-queue.js';

const MINUTE = 60_000;
const clock = { nowMs: 0 };

beforeEach(() => {
  clock.nowMs = Math.floor(Date.now() / MINUTE) * MINUTE;
});

/** Returns the same queue with a clock of the test, which ends the minutes. */
function maintained(name = uniqueQueueName(), options: QueueOptions = {}) {
  const queue = openedQueue(connectClocked(clock), name, options);
  let replicas = 0;
  /** Sweeps as one more replica; each process does so every few seconds. */
  const sweep = (version = '') => {
    replicas++;
    return new Sweeper([queue], 5_000, silentLogger, { version }).runOnce();
  };
  const nextMinute = async (version = '') => {
    clock.nowMs += MINUTE;
    await sweep(version);
  };
  return { queue, sweep, nextMinute, replicas: () => replicas };
}

it('has the jobs, waits and run times of workers', async () => {
  const queue = newQueue();
  const { queue: reader, sweep, nextMinute } = maintained(queue.name);
  await sweep();
  const runMs = [2, 2, 2, 2, 2, 2, 2, 2, 2, 600];
  const worker = await startWorker(queue, (job: { payload: number }) => sleep(job.payload), { perQueue: 10 });
  const handles = await queue.enqueueMany(runMs.map((payload) => ({ payload })));
  await Promise.all(handles.map((handle) => handle.result()));
  await queue.enqueue(1, { delayMs: 600_000 });
  await worker.worker.stop();
  await nextMinute();
  const { points, total } = await reader.history.read();
  expect(total).toMatchObject({ enqueued: 11, completed: 10, failed: 0, pending: 0 });
  expect(points.map(({ completed }) => completed)).toEqual([10]);
  expect(total!.run.count).toBe(10);
  expect(total!.run.p50!).toBeGreaterThanOrEqual(1);
  expect(total!.run.p50!).toBeLessThan(600);
  expect(total!.run.p99!).toBeGreaterThan(540);
  expect(total!.wait.count).toBe(10);
  expect(total!.wait.p99!).toBeLessThan(5_000);
});

it('sums up to the counters, whoever closed the minutes and however late', async () => {
  const { queue, sweep, nextMinute } = maintained();
  await sweep();
  let enqueued = 0;
  for (const [jobs, minutes] of [
    [7, 1],
    [0, 1],
    [5, 3],
    [1, 1],
    [13, 7],
  ] as const) {
    await queue.enqueueMany(Array.from({ length: jobs }, () => ({ payload: 1 })));
    enqueued += jobs;
    clock.nowMs += minutes * MINUTE;
    await Promise.all([sweep(), sweep(), sweep()]);
  }
  await nextMinute();
  const report = await queue.history.read();
  const { enqueued_total: total } = { enqueued_total: (await queue.stats()).totals['enqueued'] };
  expect(report.total!.enqueued).toBe(enqueued);
  expect(total).toBe(enqueued);
  expect(report.points).toHaveLength(14);
  expect(report.points.reduce((sum, point) => sum + point.enqueued, 0)).toBe(enqueued);
  expect(report.marks).toMatchObject([{ kind: 'outage' }]);
  expect(report.points.filter(({ pending }) => pending === null)).toHaveLength(2 + 6);
});

it('joins minutes to steps', async () => {
  const { queue, sweep, nextMinute } = maintained();
  clock.nowMs = Math.floor(clock.nowMs / (10 * MINUTE)) * 10 * MINUTE;
  await sweep();
  for (let i = 0; i < 20; i++) {
    await queue.enqueue(i);
    await nextMinute();
  }
  const { points, stepMs } = await queue.history.read({ stepMs: 10 * MINUTE });
  expect(stepMs).toBe(10 * MINUTE);
  expect(points.map(({ enqueued, pending }) => [enqueued, pending])).toEqual([
    [10, 10],
    [10, 20],
  ]);
  const last = await queue.history.read({ lastMs: 5 * MINUTE });
  expect(last.points.map(({ enqueued }) => enqueued)).toEqual([1, 1, 1, 1, 1]);
});

it('marks the versions of the app', async () => {
  const { queue, sweep, nextMinute } = maintained();
  await sweep('1.4.0');
  await nextMinute('1.4.0');
  await nextMinute('1.5.0');
  expect((await queue.history.read()).marks).toEqual([
    { kind: 'deploy', at: expect.any(Date), version: '1.4.0' },
    { kind: 'deploy', at: expect.any(Date), version: '1.5.0' },
  ]);
});

it('reads 72 hours in slices', async () => {
  const { queue, sweep } = maintained();
  await sweep();
  const calls = await queue.calls();
  for (let i = 0; i < 1_203; i++) {
    clock.nowMs += MINUTE;
    const reading = { pending: 1, processing: 0, oldestPendingAgeMs: 1, version: '', gapMs: 180_000 };
    await queue.exec(() => calls.history.closeMinute(reading));
  }
  const { points } = await queue.history.read({ lastMs: 72 * 60 * MINUTE });
  expect(points.filter(({ pending }) => pending === 1)).toHaveLength(1_203);
});

it('reads this hour of the last days, and nothing of the hours between', async () => {
  const { queue, sweep, nextMinute } = maintained();
  await sweep();
  const hoursUntil = { 24: 1, 47: 10, 48: 100, 72: 1_000 };
  const day = 24 * 60 * MINUTE;
  const begin = clock.nowMs;
  for (const [hours, jobs] of Object.entries(hoursUntil).toReversed()) {
    clock.nowMs = begin + 3 * day - Number(hours) * 60 * MINUTE;
    await sweep();
    await nextMinute();
    await queue.enqueueMany(Array.from({ length: jobs }, () => ({ payload: 1 })));
    await nextMinute();
  }
  clock.nowMs = begin + 3 * day;
  await sweep();
  const { points, total } = await queue.history.sameHour();
  expect(total!.enqueued).toBe(1_101);
  expect(points.filter(({ enqueued }) => enqueued > 0).map(({ enqueued }) => enqueued)).toEqual([1, 100, 1_000]);
});

it('is empty where nothing was recorded, and refuses a range that makes no sense', async () => {
  const queue = newQueue();
  expect(await queue.history.read()).toMatchObject({ points: [], total: undefined, marks: [] });
  await expect(queue.history.read({ stepMs: 1_000 })).rejects.toThrow(InvalidOptionError);
  await expect(queue.history.read({ lastMs: 80 * 60 * MINUTE })).rejects.toThrow(/259200000/);
});

it('costs nothing where it is off', async () => {
  const queue = newQueue({ history: false });
  const { sweep, nextMinute } = maintained(queue.name, { history: false });
  await sweep();
  const worker = await startWorker(queue);
  await (await queue.enqueue(1)).result();
  await worker.worker.stop();
  await nextMinute();
  expect(await connect().exists(`queue:${queue.name}:history`, `queue:${queue.name}:history_open`)).toBe(0);
});

it('marks the version of a worker without maintenance, once', async () => {
  const queue = newQueue();
  const versions = async () => (await queue.history.read()).marks.map(({ kind, version }) => [kind, version]);
  const start = () => startWorker(queue, () => 1, { version: 'v2', sweepIntervalMs: 0 });
  await Promise.all([start(), start()]);
  await eventually(async () => (await versions()).length > 0);
  await start();
  await sleep(100);
  expect(await versions()).toEqual([['deploy', 'v2']]);
});

it('takes little memory: a busy minute less than 320 bytes', async () => {
  const { queue, sweep } = maintained();
  await sweep();
  const calls = await queue.calls();
  const times = Array.from({ length: 12 }, (_, i) => [`w${i + 10}`, 7_000 + i, `r${i + 30}`, 9_000 + i]).flat();
  for (let i = 0; i < 300; i++) {
    clock.nowMs += MINUTE;
    await queue.exec(() => calls.history.addDurations({ worker: 'w', batch: `b${i}`, counts: times }));
    const reading = { pending: 12_345, processing: 250, oldestPendingAgeMs: 98_765, version: '', gapMs: 180_000 };
    await queue.exec(() => calls.history.closeMinute(reading));
  }
  const bytes = Number(await connect().call('MEMORY', 'USAGE', `queue:${queue.name}:history`, 'SAMPLES', '0'));
  expect(bytes / 300).toBeLessThan(320);
});
