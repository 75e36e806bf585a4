import { describe, expect, it } from '@jest/globals';
import { testQueue } from '../../support/queue/queue-state.js';
import { HOUR, hourly, limited } from './limited-queue.js';

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

  it('returns when the next job may start, and until when the queue rests', async () => {
    const q = await limited(hourly(60, 1), 'a', 'b');
    const [a] = await q.claim(1);
    await q.run(q.scripts.release([{ ...a!, reason: 'rate_limited', delayMs: HOUR }]));
    const { nextStartAt, restsUntil } = await q.run(q.scripts.limits.get());
    const now = await q.now();
    expect(nextStartAt!.getTime() - now).toBeGreaterThan(50_000);
    expect(restsUntil!.getTime() - now).toBeGreaterThan(HOUR - 10_000);
  });
});
