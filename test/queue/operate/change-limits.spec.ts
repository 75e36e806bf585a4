// Limits that are changed one by one, so that operators do not undo each other.
import { expect, it } from '@jest/globals';
import { InvalidOptionError } from '#queue/errors/errors.js';
import { newQueue, onEachStore } from '../../support/worker/workers.js';

const rateLimit = { limit: 10, periodMs: 1_000, burst: 2 };

onEachStore('limits.change', () => {
  it('keeps what it does not name, also where two operators change limits at once', async () => {
    const queue = newQueue();
    await queue.limits.set({ maxRunning: 5, rateLimit, groups: { maxRunning: 1, weight: 2 }, maxPending: 9 });
    await Promise.all([queue.limits.change({ maxRunning: 7 }), queue.limits.change({ maxPending: 8 })]);
    const kept = { source: 'set', rateLimit, groups: { maxRunning: 1, weight: 2 } };
    expect(await queue.limits.get()).toEqual({ ...kept, maxRunning: 7, maxPending: 8 });
    await queue.limits.change({ maxRunning: null, maxPending: null, groups: { weight: 3 } });
    expect(await queue.limits.get()).toEqual({ source: 'set', rateLimit, groups: { weight: 3 } });
    await queue.limits.change({ rateLimit: null, maxPendingBytes: 100 });
    expect(await queue.limits.get()).toEqual({ source: 'set', groups: { weight: 3 }, maxPendingBytes: 100 });
  });

  it('refuses what is no limit, and changes nothing', async () => {
    const queue = newQueue();
    await queue.limits.set({ maxRunning: 5 });
    for (const bad of [{ maxRunning: 0 }, { most: 1 }, null]) {
      await expect(queue.limits.change(bad as never)).rejects.toThrow(InvalidOptionError);
    }
    expect(await queue.limits.get()).toEqual({ source: 'set', maxRunning: 5 });
  });
});
