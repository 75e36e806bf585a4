import { describe, expect, it } from '@jest/globals';
import { testQueue } from '../../support/queue/queue-state.js';
import { HOUR, hourly } from './limited-queue.js';

describe('limits/get.lua', () => {
  it('returns the limits that were set, and nothing on a plain queue', async () => {
    const q = testQueue();
    expect(await q.run(q.scripts.limits.get())).toEqual({ source: 'none' });
    await q.run(q.scripts.limits.set({ maxRunning: 4, ...hourly(60, 2) }));
    expect(await q.run(q.scripts.limits.get())).toEqual({
      source: 'set',
      maxRunning: 4,
      rateLimit: { limit: 60, periodMs: HOUR, burst: 2 },
    });
  });
});
