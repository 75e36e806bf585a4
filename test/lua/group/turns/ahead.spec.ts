// Which jobs of groups a claim takes ahead of a free slot, and what its reply says of limits.
import { describe, expect, it } from '@jest/globals';
import type { GroupLimits, QueueLimits } from '#queue/model/limits.js';
import type { ClaimRequest } from '#queue/store/attempt-forms.js';
import { testQueue, type TestQueue } from '../../../support/queue/queue-state.js';

/** Makes a queue with `count` jobs in each group; the ids are the group and a number. */
async function queueWith(groups: readonly string[], count: number, limits: QueueLimits = {}): Promise<TestQueue> {
  const q = testQueue();
  await q.run(q.scripts.limits.set(limits));
  const jobs = Array.from({ length: count }, (_, i) =>
    groups.map((group) => ({ id: `${group}${i}`, name: q.name, payload: '{}', options: { group } })),
  );
  await q.run(q.scripts.enqueue(jobs.flat()));
  return q;
}

const RATE: GroupLimits = { rateLimit: { limit: 1_000, periodMs: 1, burst: 1_000 } };

async function claim(q: TestQueue, count: number, request: Partial<ClaimRequest>) {
  const { jobs, isLimited, awaitsSlots } = await q.run(q.claimCall(count, request));
  return { ids: jobs.map(({ id }) => id), isLimited, awaitsSlots, jobs };
}

it('takes jobs of groups without limits ahead, in turn, and marks them', async () => {
  const q = await queueWith(['a', 'b', 'c'], 3);
  const { ids, isLimited, awaitsSlots, jobs } = await claim(q, 5, { slots: 2 });
  expect(ids).toEqual(['a0', 'b0', 'c0', 'a1', 'b1']);
  expect({ isLimited, awaitsSlots }).toEqual({ isLimited: false, awaitsSlots: false });
  expect(jobs.map(({ prefetched }) => prefetched)).toEqual([false, false, true, true, true]);
  expect(jobs.map(({ plain }) => plain)).toEqual(Array(5).fill('grouped'));
  expect((await claim(q, 9, { slots: 0 })).ids).toEqual(['c1', 'a2', 'b2', 'c2']);
});

it.each<[string, GroupLimits]>([
  ['maxRunning', { maxRunning: 9 }],
  ['a rate', RATE],
])(
  'ends at a group with %s once each free slot has a job, and takes its turn first in the next claim',
  async (_, own) => {
    const q = await queueWith(['a', 'b', 'c'], 3);
    await q.run(q.scripts.groups.set({ name: 'b', limits: own }));
    await q.takeWake();
    expect(await claim(q, 9, { slots: 1 })).toMatchObject({ ids: ['a0'], isLimited: true, awaitsSlots: true });
    expect(await q.takeWake()).toBe(true); // another worker may have a slot for it
    expect(await claim(q, 9, { slots: 0 })).toMatchObject({ ids: [], isLimited: true, awaitsSlots: true });
    expect(await q.takeWake()).toBe(true);
    expect(await claim(q, 1, { slots: 1 })).toMatchObject({ ids: ['b0'], isLimited: true, awaitsSlots: true });
    expect(await claim(q, 2, { slots: 0 })).toMatchObject({
      ids: ['c0', 'a1'],
      isLimited: false,
      awaitsSlots: false,
    });
  },
);

it.each<[string, QueueLimits]>([
  ['groups of one slot', { groups: { maxRunning: 1 } }],
  ['groups of some slots', { groups: { maxRunning: 2 } }],
  ['groups with a rate', { groups: RATE }],
  ['a limited queue', { maxRunning: 100 }],
  ['a queue with a rate', RATE],
])('takes no job of %s ahead', async (_, limits) => {
  const q = await queueWith(['a', 'b', 'c'], 2, limits);
  expect(await claim(q, 3, { slots: 2 })).toMatchObject({ ids: ['a0', 'b0'], isLimited: true });
  expect(await claim(q, 3, { slots: 0 })).toMatchObject({ ids: [], isLimited: true });
});

describe('jobs without a group', () => {
  it('are claimed ahead in their turns', async () => {
    const q = await queueWith(['a', 'b'], 2);
    await q.addAll('p0', 'p1');
    const { ids, isLimited, jobs } = await claim(q, 6, { slots: 1 });
    expect(ids).toEqual(['p0', 'a0', 'b0', 'p1', 'a1', 'b1']);
    expect(isLimited).toBe(false);
    expect(jobs.map(({ prefetched }) => prefetched)).toEqual([false, true, true, true, true, true]);
  });

  it('count for the free slots where the claimer does not handle some of them', async () => {
    const q = await queueWith(['a'], 1);
    await q.run(q.scripts.groups.set({ name: 'b', limits: { maxRunning: 9 } }));
    for (const id of ['b0', 'b1']) await q.add(id, { group: 'b' });
    await q.addAll('p0');
    await q.run(q.scripts.enqueue([{ id: 'p1', name: 'other', payload: '{}' }]));
    const only = { limits: [{ name: q.name, maxAttempts: 3, maxCrashes: 3 }], cursor: -1 };
    // The second turn of jobs without a group is free again. But b1 would be the fourth job for three slots.
    expect(await claim(q, 4, { slots: 3, only })).toMatchObject({ ids: ['p0', 'a0', 'b0'], awaitsSlots: true });
    expect(await claim(q, 4, { slots: 1, only })).toMatchObject({ ids: ['b1'] });
  });

  it('of more bytes than the claim has room for leave the jobs of groups in their lines', async () => {
    const q = await queueWith(['a', 'b'], 1);
    for (const id of ['p0', 'p1']) await q.add(id, {}, JSON.stringify('x'.repeat(100)));
    expect((await claim(q, 4, { slots: 1, mostBytes: 110 })).ids).toEqual(['p0', 'a0', 'b0']);
    expect(await q.pending()).toEqual(['p1']);
    expect((await claim(q, 4, { slots: 1, mostBytes: 110 })).ids).toEqual(['p1']);
  });
});

it('says that jobs wait for slots where only groups at their limits have jobs', async () => {
  const q = await queueWith(['a', 'b'], 1);
  await q.run(q.scripts.groups.set({ name: 'b', limits: { maxRunning: 1 } }));
  await q.add('b1', { group: 'b' });
  await claim(q, 2, { slots: 2 });
  await q.add('a1', { group: 'a' });
  expect(await claim(q, 1, { slots: 0 })).toMatchObject({ ids: ['a1'], isLimited: true, awaitsSlots: true });
});

it('a job that was claimed ahead counts as running, and the death of its worker costs it nothing', async () => {
  const q = await queueWith(['a'], 3);
  await claim(q, 3, { slots: 1 });
  const running = async () => (await q.run(q.scripts.groups.named({ names: ['a'] })))[0]!.running;
  expect(await running()).toBe(3);
  await q.expireClaims('a0', 'a1', 'a2');
  await q.run(q.scripts.sweep.reclaim({ limit: 500, gapMs: Number.MAX_SAFE_INTEGER, waitMs: 0 }));
  expect(await running()).toBe(0);
  expect([await q.job('a0'), await q.job('a1')]).toMatchObject([{ crashes: '1' }, { attempts: '0' }]);
  expect(await q.field('a1', 'crashes')).toBeNull();
  expect((await claim(q, 3, { slots: 3 })).ids).toEqual(['a0', 'a1', 'a2']);
});

it.each<[string, QueueLimits]>([
  ['a queue with maxRunning', { maxRunning: 9 }],
  ['a queue with a rate', { rateLimit: { limit: 1_000, periodMs: 1, burst: 1_000 } }],
  ['groups of one slot', { groups: { maxRunning: 1 } }],
  ['groups of some slots', { groups: { maxRunning: 2 } }],
  ['groups with a rate', { groups: RATE }],
])('takes a job of %s that may wait for its slots, and marks it', async (_, limits) => {
  const q = await queueWith(['a', 'b', 'c'], 1, limits);
  const { ids, jobs } = await claim(q, 2, { slots: 1, waits: 1 });
  expect(ids).toEqual(['a0', 'b0']);
  expect(jobs.map(({ prefetched }) => prefetched)).toEqual([false, true]);
  expect((await claim(q, 1, { slots: 0, waits: 1 })).jobs).toMatchObject([{ id: 'c0', prefetched: true }]);
});
