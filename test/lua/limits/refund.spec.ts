// The cost of a job that never started goes back to the rates that it was charged to.
import { describe, expect, it } from '@jest/globals';
import type { ClaimedJob } from '#queue/model/job.js';
import type { QueueLimits } from '#queue/model/limits.js';
import type { TestQueue } from '../../support/queue/queue-state.js';
import { HOUR, hourly, ids, limited } from './limited-queue.js';
import { sleep } from '../../support/faults/wait.js';

/** Returns whether the rates of the queue, and of group g, have spent an hour. */
const spent = async (q: TestQueue) => {
  const state = await q.redis.hget(`${q.keys.groupsPrefix}state:g`, 'rate_tat_us');
  const ofQueue = await q.redis.hget(q.keys.settings, 'rate_tat_us');
  return [ofQueue, state].map((tat) => Number(tat) / 1_000 > Date.now() + HOUR / 2);
};

describe('a job that never started is refunded to the rates', () => {
  const rates: QueueLimits = { ...hourly(1, 1), groups: hourly(1, 1) };
  it('where it is refused: expired, or cancelled meanwhile', async () => {
    const q = await limited(rates);
    await q.add('a', { group: 'g', expires_in_ms: 1 });
    await sleep(3);
    const { refused } = await q.run(q.claimCall(1));
    expect(await spent(q)).toEqual([true, true]);
    await q.run(q.scripts.fail(refused.map((job) => ({ ...job, final: true, backoffMs: 0 }))));
    expect(await spent(q)).toEqual([false, false]);
  });

  it('wakes a worker for the start that this leaves, however its claim ends', async () => {
    const ends: Record<string, (q: TestQueue, job: ClaimedJob) => Promise<unknown>> = {
      fail: (q, job) => q.fail(job, { final: true, begun: false }),
      release: (q, job) =>
        q.run(q.scripts.release([{ ...job, reason: 'interruption', delayMs: 0, unstarted: true }])),
      reclaim: async (q) => {
        await q.expireClaims('a');
        await q.redis.hset(q.keys.job('a'), `unstarted:${await q.field('a', 'fence')}`, '1');
        await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: HOUR, waitMs: HOUR }));
      },
    };
    for (const [name, end] of Object.entries(ends)) {
      const q = await limited(hourly(1, 1), 'a', 'b');
      const [a] = await q.claim(1);
      await q.run(q.scripts.cancel({ id: 'a' }));
      await q.takeWake();
      await end(q, a!);
      expect([name, await q.takeWake()]).toEqual([name, true]);
      expect(ids(await q.claim(1))).toEqual(['b']);
    }
  });

  it('wakes no worker where the job had started', async () => {
    const q = await limited(hourly(1, 1), 'a', 'b');
    const [a] = await q.claim(1);
    await q.takeWake();
    await q.fail(a!, { final: true, begun: true });
    expect(await q.takeWake()).toBe(false);
  });

  it('where its handler failed it stays charged', async () => {
    const q = await limited(rates);
    const job = await q.addAndClaim('a', { group: 'g' });
    await q.fail(job, { final: true, begun: true });
    expect(await spent(q)).toEqual([true, true]);
  });

  const slower = { rateLimit: { limit: 1, periodMs: 2 * HOUR } };
  it.each<[what: string, kept: [boolean, boolean], change: (q: TestQueue) => Promise<unknown>]>([
    ['the queue', [true, false], (q) => q.run(q.scripts.limits.set({ ...slower, groups: rates.groups! }))],
    ['all groups', [false, true], (q) => q.run(q.scripts.limits.set({ ...rates, groups: slower }))],
    ['its group', [false, true], (q) => q.run(q.scripts.groups.set({ name: 'g', limits: slower }))],
  ])('but not to the rate of %s that was changed after its claim', async (_, kept, change) => {
    const q = await limited(rates);
    await q.add('a', { group: 'g', expires_in_ms: 1 });
    await sleep(3);
    const { refused } = await q.run(q.claimCall(1));
    await change(q);
    await q.run(q.scripts.fail(refused.map((job) => ({ ...job, final: true, backoffMs: 0 }))));
    expect(await spent(q)).toEqual(kept);
  });

  it('where its worker died while the claim held it', async () => {
    const q = await limited(rates);
    await q.add('a', { group: 'g' });
    await q.redis.hset(q.keys.job('a'), { attempts: 1, crashes: 1, next_crash_is_last: 1 });
    expect(await q.claim(1, { slots: 1 })).toMatchObject([{ isolated: true }]);
    expect(await spent(q)).toEqual([true, true]);
    await q.expireClaims('a');
    await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: Number.MAX_SAFE_INTEGER, waitMs: 0 }));
    expect(await spent(q)).toEqual([false, false]);
  });
});
