import { expect, it } from '@jest/globals';
import { systemClock } from '#queue/runtime/clock.js';
import { ScriptStore } from '#memory/script-store.js';
import { newQueue, startWorker, type TestWorker } from '../../support/worker/workers.js';

const MINUTE = 60_000;

/** Makes a queue, and a function that moves its clock and looks for long runs. */
function clockedQueue() {
  let offMs = 0;
  const looks = new Set<() => void>();
  const setInterval: typeof systemClock.setInterval = (task, ms) => {
    if (ms === MINUTE) looks.add(task);
    return systemClock.setInterval(task, ms);
  };
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + offMs, setInterval };
  const pass = (ms: number) => {
    offMs += ms;
    looks.forEach((look) => look());
  };
  return { queue: newQueue({}, new ScriptStore(clock)), pass };
}

function said({ warnings }: TestWorker): string[] {
  return warnings.filter((line) => line.includes('has no timeoutMs'));
}

it('warns once of a handler without a timeout that runs for more than 15 minutes', async () => {
  const { queue, pass } = clockedQueue();
  let end!: () => void;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const worker = await startWorker(queue, () => ended);
  const jobs = await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
  await worker.event('started', 2);
  pass(14 * MINUTE);
  expect([said(worker), worker.worker.longRuns]).toEqual([[], []]);
  pass(2 * MINUTE);
  const named = jobs.find(({ id }) => said(worker)[0]?.includes(id))!;
  expect(said(worker)).toEqual([
    `The handler of job ${named.id} (${queue.name}) of queue "${queue.name}" has run for 16 minutes and has no timeoutMs. ` +
      'Set timeoutMs and pass job.signal on, because a call that hangs keeps its slot.',
  ]);
  pass(MINUTE);
  expect(said(worker)).toHaveLength(1);
  // Both began at once, so either may be named.
  const isOneOfThem = expect.stringMatching(jobs.map(({ id }) => `^${id}$`).join('|'));
  expect(worker.worker.longRuns).toMatchObject([
    { queue: queue.name, id: isOneOfThem, name: queue.name, attempt: 1 },
  ]);
  end();
  await worker.event('completed', 2);
  expect(worker.worker.longRuns).toEqual([]);
});

it('does not warn of a handler with a timeout', async () => {
  const { queue, pass } = clockedQueue();
  let end!: () => void;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const worker = await startWorker(queue, { handle: () => ended, timeoutMs: 60 * MINUTE });
  await queue.enqueue({});
  await worker.event('started');
  pass(16 * MINUTE);
  expect([said(worker), worker.worker.longRuns]).toEqual([[], []]);
  end();
  await worker.event('completed');
});
