// Both stores keep the same figures of past minutes; see test/lua/history for Redis alone.
import { expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import type { StoreCalls } from '#queue/store/store-calls.js';
import { newClockedQueue, onEachStore } from '../support/worker/workers.js';

const MINUTE = 60_000;
const START = Math.floor(Date.now() / MINUTE) * MINUTE;
const IDLE = { pending: 0, processing: 0, oldestPendingAgeMs: 0, version: '', gapMs: 3 * MINUTE };

function recorded() {
  const { queue, clock } = newClockedQueue();
  clock.nowMs = START + 1_000;
  const close = (reading: Partial<Parameters<StoreCalls['history']['closeMinute']>[0]> = {}) =>
    queue.exec((calls) => calls.history.closeMinute({ ...IDLE, ...reading }));
  const pass = (minutes: number) => void (clock.nowMs += minutes * MINUTE);
  return { queue, close, pass };
}

const at = (minutes: number) => new Date(START + minutes * MINUTE + 1_000);
const read = (queue: JobQueue) => queue.history.read({ lastMs: 60 * MINUTE });

onEachStore('the history', () => {
  it('has the counts of each minute, and the times of workers once', async () => {
    const { queue, close, pass } = recorded();
    expect(await close()).toBe(59_000);
    await queue.enqueueMany([1, 2, 3].map((payload) => ({ payload })));
    await queue.complete((await queue.claim())!);
    await queue.fail((await queue.claim())!, new Error('no'), { delayMs: MINUTE });
    for (const batch of ['one', 'one', 'two']) {
      await queue.exec((calls) => calls.history.addDurations({ worker: 'w', batch, counts: ['w0', 2, 'r9', 1] }));
    }
    pass(1);
    expect(await queue.exec((calls) => calls.history.reportVersion({ version: '' }))).toBe(0);
    expect(await close({ pending: 1, oldestPendingAgeMs: 700 })).toBe(59_000);
    expect(await queue.exec((calls) => calls.history.reportVersion({ version: '' }))).toBe(59_000);
    await close({ pending: 9 });
    const { points, total } = await read(queue);
    expect(points).toHaveLength(1);
    expect(total).toMatchObject({
      enqueued: 3,
      completed: 1,
      retried: 1,
      failed: 0,
      pending: 1,
      oldestPendingAgeMs: 700,
    });
    expect([total!.wait.count, total!.run.count]).toEqual([4, 2]);
  });

  it('covers unclosed minutes by one entry, and marks outages and deploys', async () => {
    const { queue, close, pass } = recorded();
    await close({ version: '1' });
    await queue.enqueueMany([1, 2, 3, 4].map((payload) => ({ payload })));
    pass(2);
    await close({ version: '2' });
    pass(10);
    await close({ version: '2' });
    const { points, marks } = await read(queue);
    expect(points.map(({ enqueued }) => enqueued)).toEqual([2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    expect(marks).toEqual([
      { kind: 'deploy', at: at(0), version: '1' },
      { kind: 'deploy', at: at(2), version: '2' },
      { kind: 'outage', at: at(2), endedAt: at(12) },
    ]);
  });
});
