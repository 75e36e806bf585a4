// Limits that are changed one by one, so that operators do not undo each other.
import { expect, it } from '@jest/globals';
import { InvalidOptionError } from '#queue/errors/errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import { newClockedQueue, newQueue, onEachStore } from '../../support/worker/workers.js';

const rateLimit = { limit: 10, periodMs: 1_000, burst: 2 };

onEachStore('limits.change', () => {
  it('keeps the limits that it does not name, also where two operators change limits at once', async () => {
    const queue = newQueue();
    await queue.limits.set({ maxRunning: 5, rateLimit, groups: { maxRunning: 1 }, maxPending: 9 });
    await Promise.all([queue.limits.change({ maxRunning: 7 }), queue.limits.change({ maxPending: 8 })]);
    const kept = { source: 'set', rateLimit, groups: { maxRunning: 1 } };
    expect(await queue.limits.get()).toEqual({ ...kept, maxRunning: 7, maxPending: 8 });
    await queue.limits.change({ maxRunning: null, maxPending: null, groups: { maxRunning: null, weight: 3 } });
    expect(await queue.limits.get()).toEqual({ source: 'set', rateLimit, groups: { weight: 3 } });
    await queue.limits.change({ rateLimit: null, maxPendingBytes: 100 });
    expect(await queue.limits.get()).toEqual({ source: 'set', groups: { weight: 3 }, maxPendingBytes: 100 });
  });

  it('keeps the fields that it does not name within a rate and within groups too', async () => {
    const queue = newQueue();
    const groups = { maxRunning: 1, rateLimit, weight: 2, onDeadHead: 'hold' as const, ungroupedWeight: 4 };
    await queue.limits.set({ rateLimit, groups });
    await Promise.all([
      queue.limits.change({ rateLimit: { limit: 20 }, groups: { maxRunning: 2 } }),
      queue.limits.change({ rateLimit: { burst: 3 }, groups: { rateLimit: { periodMs: 500 }, onDeadHead: null } }),
    ]);
    const { onDeadHead: _taken, ...kept } = groups;
    expect(await queue.limits.get()).toEqual({
      source: 'set',
      rateLimit: { limit: 20, periodMs: 1_000, burst: 3 },
      groups: { ...kept, maxRunning: 2, rateLimit: { ...rateLimit, periodMs: 500 } },
    });
    await queue.limits.change({ groups: { rateLimit: null }, rateLimit: null });
    expect(await queue.limits.get()).toEqual({
      source: 'set',
      groups: { maxRunning: 2, weight: 2, ungroupedWeight: 4 },
    });
    await queue.limits.change({ groups: null, rateLimit: { limit: 5, periodMs: 100 } });
    expect(await queue.limits.get()).toEqual({ source: 'set', rateLimit: { limit: 5, periodMs: 100, burst: 1 } });
  });

  it('refuses a part of a rate where there is none, and changes nothing', async () => {
    const queue = newQueue();
    await queue.limits.set({ maxRunning: 5 });
    for (const bad of [{ rateLimit: { burst: 2 } }, { maxRunning: 6, groups: { rateLimit: { limit: 2 } } }]) {
      await expect(queue.limits.change(bad)).rejects.toThrow(InvalidOptionError);
    }
    expect(await queue.limits.get()).toEqual({ source: 'set', maxRunning: 5 });
  });

  it('refuses a value that is no limit, and changes nothing', async () => {
    const queue = newQueue();
    await queue.limits.set({ maxRunning: 5 });
    for (const bad of [{ maxRunning: 0 }, { most: 1 }, null]) {
      await expect(queue.limits.change(bad as never)).rejects.toThrow(InvalidOptionError);
    }
    const noRate = queue.limits.change({ rateLimit: 5 as never });
    await expect(noRate).rejects.toThrow('rateLimit: expected { limit?, periodMs?, burst? }, found 5');
    expect(await queue.limits.get()).toEqual({ source: 'set', maxRunning: 5 });
  });
});

/** Returns how many jobs may start now. */
const claimed = async (queue: JobQueue) => (await queue.claimMany(1_000)).length;

/** Returns a paused queue with so many jobs. */
async function paused(jobs: number) {
  const { queue, clock } = newClockedQueue();
  await queue.enqueueMany(Array.from({ length: jobs }, () => ({ payload: 1 })));
  await queue.pause();
  return { queue, clock };
}

onEachStore('resume({ first, perSecond })', () => {
  it.each([3, 500])('starts %d jobs, and hardly more of them a day later', async (first) => {
    const { queue, clock } = await paused(first + 10);
    await queue.resume({ first });
    expect(await claimed(queue)).toBe(first);
    clock.nowMs += 20 * 3_600_000;
    expect(await claimed(queue)).toBe(0);
    clock.nowMs += 5 * 3_600_000;
    expect(await claimed(queue)).toBe(1);
  });

  it('starts as many as its largest number', async () => {
    const { queue } = await paused(0);
    await queue.resume({ first: 1_000_000 });
    expect(await queue.limits.get()).toMatchObject({ rateLimit: { limit: 25, burst: 1_000_000 } });
  });

  it('starts as many again after another pause', async () => {
    const { queue } = await paused(20);
    await queue.resume({ first: 5 });
    expect(await claimed(queue)).toBe(5);
    await queue.pause();
    await queue.resume({ first: 5 });
    expect(await claimed(queue)).toBe(5);
  });

  it('starts so many a second, and keeps the other limits', async () => {
    const { queue, clock } = await paused(20);
    await queue.limits.set({ maxRunning: 15, rateLimit: { limit: 2, periodMs: 60_000, burst: 9 } });
    await queue.resume({ perSecond: 10 });
    const rate = { limit: 10, periodMs: 1_000, burst: 1 };
    expect(await queue.limits.get()).toEqual({ source: 'set', maxRunning: 15, rateLimit: rate });
    expect(await claimed(queue)).toBe(1);
    clock.nowMs += 101;
    expect(await claimed(queue)).toBe(1);
  });

  it.each([{ first: 1 }, { perSecond: 1 }])('%j changes no limit of a queue that runs', async (how) => {
    const { queue } = await paused(20);
    await queue.resume();
    await queue.limits.set({ maxRunning: 15 });
    expect(await queue.resume(how)).toBe(false);
    expect(await queue.limits.get()).toEqual({ source: 'set', maxRunning: 15 });
    expect(await claimed(queue)).toBe(15);
  });

  it('is one line of the log, with its options', async () => {
    const { queue } = await paused(0);
    await queue.resume({ first: 3 });
    const entries = await queue.actionLog.latest();
    expect(entries.map(({ action, subject }) => `${action} ${subject}`)).toEqual([
      'resume the queue: first 3',
      'pause the queue',
    ]);
  });
});
