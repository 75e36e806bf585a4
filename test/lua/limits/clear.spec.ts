import { describe, expect, it } from '@jest/globals';
import type { QueueLimits } from '#queue/model/limits.js';
import { testQueue } from '../../support/queue/queue-state.js';

const HOUR = 3_600_000;
/** Slow enough that a loaded machine earns nothing while a test runs. */
const hourly = (limit: number, burst: number): QueueLimits => ({ rateLimit: { limit, periodMs: HOUR, burst } });
async function limited(limits: QueueLimits, ...ids: string[]) {
  const q = testQueue();
  await q.run(q.scripts.setLimits(limits));
  await q.addAll(...ids);
  return q;
}

const ids = (jobs: { id: string }[]) => jobs.map(({ id }) => id);

describe('limits/clear.lua', () => {
  it('takes limits and rest away, and leaves a pause', async () => {
    const q = await limited({ maxRunning: 1, ...hourly(60, 1) }, 'a', 'b');
    const [a] = await q.claim(1);
    await q.run(q.scripts.release([{ ...a!, reason: 'rate_limited', delayMs: HOUR }]));
    await q.run(q.scripts.pause());
    await q.run(q.scripts.clearLimits());
    expect(Object.keys(await q.redis.hgetall(q.keys.settings))).toEqual(['paused_at_ms']);
    await q.run(q.scripts.resume());
    expect(ids(await q.claim(5))).toEqual(['a', 'b']);
    expect(await q.redis.exists(q.keys.settings)).toBe(0); // a plain queue again
  });
});
