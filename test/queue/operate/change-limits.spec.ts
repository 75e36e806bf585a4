// Limits that are changed one by one, so that operators do not undo each other.
import { expect, it } from '@jest/globals';
import { InvalidOptionError } from '#queue/errors/errors.js';
import { newQueue, onEachStore } from '../../support/worker/workers.js';

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
