// How often free slots waited for a rate limit or a rest: counted without a command of its own.
import { describe, expect, it } from '@jest/globals';
import { testQueue, type TestQueue } from '../../support/queue/queue-state.js';
import { HOUR, hourly, limited } from './limited-queue.js';

const waitsOf = async (q: TestQueue) => (await q.run(q.scripts.stats())).totals.limited ?? 0;

describe('the counter limited', () => {
  it('counts a claim that the rate kept from filling its slots, and no other', async () => {
    const q = await limited(hourly(1, 3), 'a', 'b', 'c', 'd', 'e');
    await q.claim(2); // both slots are filled
    expect(await waitsOf(q)).toBe(0);
    await q.claim(2); // one of two
    expect(await waitsOf(q)).toBe(1);
    await q.claim(2);
    expect(await waitsOf(q)).toBe(2);
  });

  it('counts no claim that finds no job, and none that waits for a slot only', async () => {
    const empty = await limited(hourly(1, 1), 'a');
    await empty.claim(1);
    await empty.claim(1);
    expect(await waitsOf(empty)).toBe(0);
    const full = await limited({ maxRunning: 1 }, 'a', 'b');
    await full.claim(2);
    expect(await waitsOf(full)).toBe(0);
  });

  it('counts a claim in a rest by a RateLimitedError, and one in which jobs of a group wait for its rate', async () => {
    const resting = testQueue();
    const job = await resting.addAndClaim('a');
    await resting.run(resting.scripts.release([{ ...job, reason: 'rate_limited', delayMs: HOUR }]));
    await resting.claim(1);
    expect([await waitsOf(resting), await resting.total('rate_limited')]).toEqual([1, 1]);
    const grouped = await limited({ groups: hourly(1, 1) });
    await grouped.add('a', { group: 'g' });
    await grouped.add('b', { group: 'g' });
    await grouped.claim(2);
    expect(await waitsOf(grouped)).toBe(1);
  });

  it('goes with the last limit', async () => {
    const q = await limited(hourly(1, 1), 'a', 'b');
    await q.claim(2);
    await q.run(q.scripts.limits.set(hourly(2, 1)));
    expect(await waitsOf(q)).toBe(1);
    await q.run(q.scripts.limits.clear());
    expect(await waitsOf(q)).toBe(0);
    expect(await q.redis.exists(q.keys.settings)).toBe(0);
  });
});
