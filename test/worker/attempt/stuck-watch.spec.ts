/** @jest-environment ./test/support/own-environment.mjs */

// A handler that ignores its signal keeps its slot: the log warns repeatedly until it ends.
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { resolveThread } from '#nest/handlers/thread-option.js';
import type { HandlerFunction } from '#worker/handlers/handler.js';
import { systemClock } from '#queue/runtime/clock.js';
import { STUCK_AFTER_MS, StuckWatch } from '#worker/attempt/overdue-handler.js';
import { eventually, gate } from '../../support/faults/wait.js';
import { holdTimers } from '../../support/worker/held-timers.js';
import { newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';

/** Makes a watch of a handler whose job was cancelled just now, and keeps its reports. */
function watched() {
  const job = {
    queue: 'reports',
    id: '7',
    name: 'report',
    attempt: 2,
    abortReason: new Error('Job 7 was cancelled.'),
  };
  const said: string[] = [];
  const watch = new StuckWatch(
    job,
    () => said.push('reported'),
    (message) => said.push(message),
    systemClock,
  );
  return { watch, said };
}

describe('the watch of a handler whose signal was aborted', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('reports it when it has gone on for six seconds, and not before', () => {
    const { watch, said } = watched();
    jest.advanceTimersByTime(5_999);
    expect([said, watch.stuck]).toEqual([[], undefined]);
    jest.advanceTimersByTime(1);
    expect(said).toEqual(['reported']);
    const told = { queue: 'reports', id: '7', name: 'report', attempt: 2, reason: 'Job 7 was cancelled.' };
    expect(watch.stuck).toEqual({ ...told, forMs: 6_000 });
  });

  it('warns of it again every minute, and says when it has ended', () => {
    const { watch, said } = watched();
    jest.advanceTimersByTime(6_000 + 119_999);
    expect(said).toEqual([
      'reported',
      expect.stringMatching(
        /^The handler of job 7 \(report\) of queue "reports" still runs, 66 s after .*cancelled/,
      ),
    ]);
    jest.advanceTimersByTime(1);
    expect(said.slice(2)).toEqual([expect.stringMatching(/still runs, 126 s after/)]);
    watch.end();
    jest.advanceTimersByTime(120_000);
    expect(said.slice(3)).toEqual([expect.stringMatching(/job 7 .*was stuck, has ended 126 s after/)]);
  });

  it('says nothing of one that ends in time, nor after a stop', () => {
    const [ended, stopped] = [watched(), watched()];
    jest.advanceTimersByTime(5_000);
    ended.watch.end();
    stopped.watch.stop();
    jest.advanceTimersByTime(120_000);
    expect([ended.said, stopped.said]).toEqual([[], []]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('gives it longer than a thread has by default until it is ended', () => {
    expect(STUCK_AFTER_MS).toBeGreaterThan(resolveThread('a handler', import.meta.url).graceMs);
  });
});

onEachStore('a worker', () => {
  it('reports a handler that ignores its timeout without waiting for a heartbeat, and lists its job until it ends', async () => {
    // A heartbeat every 20 minutes.
    const [queue, stopped] = [newQueue({ visibilityMs: 3_600_000 }), newQueue({ visibilityMs: 3_600_000 })];
    const options = { timeoutMs: 10, maxAttempts: 1 };
    const { id } = await queue.enqueue(['goes on'], options);
    await queue.enqueue(['ends'], options);
    await stopped.enqueue(['goes on'], options);
    const [finish, ends] = [gate(), gate()];
    const timers = holdTimers(STUCK_AFTER_MS);
    const handle = ({ payload }: { payload: unknown }) =>
      String(payload) === 'ends' ? ends.promise : finish.promise;
    const handler = { handle: handle as HandlerFunction, timeoutGraceMs: 0 };
    const other = await startWorker(stopped, handler);
    await other.event('failed');
    await other.worker.stop({ timeoutMs: 50 });
    const worker = await startWorker(queue, handler);
    await worker.event('failed', 2);
    ends.open();
    expect(worker.worker.stuck).toEqual([]);
    await timers.fire();
    await worker.event('stuck');
    const [stuck, ...others] = worker.worker.stuck;
    expect(stuck).toMatchObject({ queue: queue.name, id, name: queue.name, attempt: 1 });
    expect(stuck!.reason).toContain('ran longer than its timeoutMs of 10 ms');
    expect(others).toEqual([]);
    finish.open();
    await eventually(() => worker.worker.running === 0);
    expect(worker.worker.stuck).toEqual([]);
    expect([worker.count('stuck'), other.count('stuck')]).toEqual([1, 0]);
  });
});
