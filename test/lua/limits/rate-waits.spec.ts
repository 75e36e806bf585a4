// How often free slots waited for a rate limit or a rest. Each wait counts once, without a command of its own.
import { describe, expect, it } from '@jest/globals';
import type { ClaimedJob } from '#queue/model/job.js';
import { testQueue, type TestQueue, queueWith } from '../../support/queue/queue-state.js';
import { HOUR, hourly, limited } from './limited-queue.js';
import { sleep } from '../../support/faults/wait.js';

const waitsOf = async (q: TestQueue) => (await q.run(q.scripts.stats())).totals.limited ?? 0;

describe('the counter limited', () => {
  it('counts a wait of free slots for the rate once, however many claims see it', async () => {
    const q = await limited(hourly(1, 3), 'a', 'b', 'c', 'd', 'e');
    await q.claim(2); // both slots are filled
    expect(await waitsOf(q)).toBe(0);
    await q.claim(2); // one of two
    expect(await waitsOf(q)).toBe(1);
    for (const worker of ['worker-1', 'worker-2', 'worker-3']) {
      await q.claim(2, { worker });
    }
    expect(await waitsOf(q)).toBe(1);
  });

  it('counts the next wait, once the one before is over', async () => {
    const q = await limited({ rateLimit: { limit: 1, periodMs: 20, burst: 1 } }, 'a', 'b', 'c', 'd');
    for (const [i, id] of ['a', 'b', 'c'].entries()) {
      expect((await q.claim(2)).map((job) => job.id)).toEqual([id]);
      expect(await waitsOf(q)).toBe(i + 1);
      await sleep(25);
    }
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

  it('counts no claim that took the last slot, while the rate lets more jobs start', async () => {
    const q = await limited({ maxRunning: 1, ...hourly(60, 3) }, 'a', 'b', 'c');
    expect(await q.claim(5)).toHaveLength(1);
    expect(await waitsOf(q)).toBe(0);
  });

  it.each([
    ['rate', hourly(60, 1)],
    ['rate of a group', { groups: hourly(60, 1) }],
  ])('counts no claim that took the last slot, although the %s is spent too', async (_, rate) => {
    const q = await limited({ maxRunning: 1, ...rate });
    await q.add('a', { group: 'g' });
    await q.add('b', { group: 'g' });
    await q.add('c');
    expect(await q.claim(5)).toHaveLength(1);
    expect(await q.claim(5)).toHaveLength(0);
    expect(await waitsOf(q)).toBe(0);
  });

  it('counts no claim that its bytes or its names cut, while the rate lets more jobs start', async () => {
    const q = await limited(hourly(60, 3));
    await q.add('a', {}, '"long"');
    await q.add('b', {}, '"long"');
    expect(await q.claim(5, { mostBytes: 8 })).toHaveLength(1);
    expect(await q.claim(5, { only: { limits: [], cursor: -1 } })).toHaveLength(0);
    expect(await waitsOf(q)).toBe(0);
  });

  it('counts a wait that became longer as another one', async () => {
    const q = await queueWith('a', 'b', 'c');
    const [a, b] = await q.claim(2);
    const rest = (job: ClaimedJob, delayMs: number) =>
      q.run(q.scripts.release([{ ...job, reason: 'rate_limited', delayMs }]));
    for (const [i, delayMs] of [HOUR, 2 * HOUR].entries()) {
      await rest([a!, b!][i]!, delayMs);
      await q.claim(1);
      expect(await waitsOf(q)).toBe(i + 1);
    }
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

  it('stays when the last limit goes, and continues with the next ones', async () => {
    const q = await limited(hourly(1, 1), 'a', 'b', 'c');
    await q.claim(2);
    await q.run(q.scripts.limits.set(hourly(2, 1)));
    expect(await waitsOf(q)).toBe(1);
    await q.run(q.scripts.limits.clear());
    await q.run(q.scripts.limits.clear());
    expect(await waitsOf(q)).toBe(1);
    expect(await q.redis.exists(q.keys.settings)).toBe(0);
    await q.run(q.scripts.limits.set(hourly(1, 1)));
    await q.claim(2);
    expect(await waitsOf(q)).toBe(2);
  });
});
