// Many groups that run one job at a time. A claim or a completion of many does the same as one by one.
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { ClaimedJob } from '#queue/model/job.js';
import { testQueue, type TestQueue } from '../../support/queue/queue-state.js';

const GROUPS = Array.from({ length: 40 }, (_, i) => `g${String(i).padStart(2, '0')}`);
const EACH = 3;

/** Fills a queue. With `others` some jobs have other options beside their group. */
async function filledQueue(others: (n: number) => object = () => ({})): Promise<TestQueue> {
  const q = testQueue();
  await q.run(q.scripts.limits.set({ groups: { maxRunning: 1 } }));
  const jobs = Array.from({ length: EACH * GROUPS.length }, (_, n) => {
    const group = GROUPS[n % GROUPS.length]!;
    const options = { group, worker: JSON.stringify({ group }), ...others(n) };
    return {
      id: `${group}:${Math.floor(n / GROUPS.length)}`,
      name: q.name,
      payload: '{}',
      options: JSON.stringify(options),
    };
  });
  await q.run(q.enqueueCall(jobs));
  return q;
}

const complete = (q: TestQueue, jobs: readonly ClaimedJob[]) =>
  q.run(q.scripts.complete(jobs.map((job) => ({ ...job, result: '' }))));

/** Claims this many jobs at a time and completes them; answers their ids in order. */
async function drain(q: TestQueue, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const jobs = await q.claim(count);
    if (jobs.length === 0) return ids;
    ids.push(...jobs.map(({ id }) => id));
    expect(new Set(jobs.map(({ options }) => options.group)).size).toBe(jobs.length);
    await complete(q, jobs);
  }
}

describe('groups of one slot', () => {
  it('take the same turns in claims of many as one by one', async () => {
    const [one, many] = [await filledQueue(), await filledQueue()];
    const turns = await drain(many, 25);
    expect(turns).toHaveLength(EACH * GROUPS.length);
    expect(await drain(one, 1)).toEqual(turns);
  });

  it('are claimed also where another client has deleted the line of one', async () => {
    const q = testQueue();
    await q.run(q.scripts.limits.set({ groups: { maxRunning: 1 } }));
    for (const group of ['a', 'b']) await q.add(group, { group, worker: JSON.stringify({ group }) });
    await q.redis.del(`${q.keys.groupsPrefix}waiting:a`);
    q.broken = true;
    expect(await q.claim(2)).toMatchObject([{ id: 'b' }]);
  });

  it.each([65, 256])('lose no group whose name is %i dashes', async (length) => {
    const groups = [...GROUPS.slice(0, 20), '-'.repeat(length)];
    const q = testQueue();
    await q.run(q.scripts.limits.set({ groups: { maxRunning: 1 } }));
    for (const group of [...groups, ...groups, ...groups]) {
      await q.add(randomUUID(), { group, worker: JSON.stringify({ group }) });
    }
    let drained = 0;
    for (let jobs = await q.claim(100); jobs.length > 0; jobs = await q.claim(100)) {
      const isDashes = (job: ClaimedJob) => job.options.group === groups.at(-1);
      await complete(q, jobs.filter(isDashes)); // enters turns before the others
      await complete(
        q,
        jobs.filter((job) => !isDashes(job)),
      );
      drained += jobs.length;
    }
    expect(drained).toBe(3 * groups.length);
  });

  it.each([20, 120])('find their next turn beside the last running jobs of %i other groups', async (others) => {
    const q = testQueue();
    await q.run(q.scripts.limits.set({ groups: { maxRunning: 1 } }));
    const add = (id: string, group: string) => q.add(id, { group, worker: JSON.stringify({ group }) });
    for (let n = 0; n < others; n++) await add(`last:${n}`, `last-${n}`);
    for (const n of [1, 2]) await add(`deep:${n}`, 'deep');
    const jobs = await q.claim(others + 1);
    expect(jobs).toHaveLength(others + 1);
    await complete(q, jobs.slice(0, 3)); // two of their groups have no other job
    expect((await q.claim(10)).map(({ id }) => id)).toEqual(['deep:2']);
    expect(await q.redis.zcard(`${q.keys.groupsPrefix}depths`)).toBe(others - 1);
  });

  it('leave no key of a group behind, and no place in its sets', async () => {
    const q = await filledQueue();
    await drain(q, 25);
    const left = ['turns', 'ends', 'depths', 'heads', 'gated'].map((set) => q.keys.groupsPrefix + set);
    expect(await q.redis.exists(...left)).toBe(0);
    expect(await q.redis.hget(`${q.keys.groupsPrefix}settings`, 'waiting')).toBe('0');
  });

  it('keep their order where some of them, and of their jobs, are unlike the others', async () => {
    const q = await filledQueue((n) => (n % 7 === 0 ? { cost: 2 } : n % 11 === 0 ? { max_attempts: 1 } : {}));
    await q.run(q.scripts.groups.set({ name: 'g05', limits: { maxRunning: 1, weight: 2 } }));
    await q.add('plain');
    const ids = await drain(q, 25);
    expect(ids).toHaveLength(EACH * GROUPS.length + 1);
    for (const group of GROUPS) {
      expect(ids.filter((id) => id.startsWith(group))).toEqual([`${group}:0`, `${group}:1`, `${group}:2`]);
    }
  });

  it('heed the other options of jobs that an older process enqueued, whose stored options name the group alone', async () => {
    const q = await filledQueue(() => ({}));
    const others = {
      expired: { expires_in_ms: 1 },
      unique: { unique: 'k', unique_for: 'unfinished' },
      costly: { cost: 5 },
    };
    for (const [id, options] of Object.entries(others)) {
      const group = `old-${id}`;
      await q.add(id, { group, worker: JSON.stringify({ group }), ...options });
      await q.redis.hset(q.keys.job(id), 'options', JSON.stringify({ group })); // as it wrote them
    }
    await q.redis.hset(q.keys.job('expired'), 'expires_at_ms', '1');
    const { jobs, refused } = await q.run(q.claimCall(100));
    expect(refused).toMatchObject([{ id: 'expired' }]);
    expect(await q.redis.hmget(`${q.keys.groupsPrefix}ends`, 'g00', 'old-costly')).toEqual(['1', '5']);
    await complete(q, jobs);
    expect(await q.redis.hlen(q.keys.unique)).toBe(0);
  });

  it('refuse a first job that has expired', async () => {
    const q = await filledQueue((n) => (n === 0 ? { expires_in_ms: 1_000 } : {}));
    await q.redis.hset(q.keys.job('g00:0'), 'expires_at_ms', '1');
    const { jobs, refused } = await q.run(q.claimCall(100));
    expect(refused).toMatchObject([{ id: 'g00:0' }]);
    expect(jobs.map(({ id }) => id)).not.toContain('g00:0');
  });

  it('start nothing while their slot is in use, and settle as plain jobs do', async () => {
    const q = await filledQueue();
    const jobs = await q.claim(100);
    expect(jobs.map(({ id }) => id)).toEqual(GROUPS.map((group) => `${group}:0`));
    expect(jobs[0]).toMatchObject({ plain: 'grouped', options: { group: 'g00' }, attempt: 1 });
    expect(await q.claim(100)).toEqual([]);
    await complete(q, jobs.slice(10, 20));
    expect((await q.claim(100)).map(({ id }) => id)).toEqual(GROUPS.slice(10, 20).map((group) => `${group}:1`));
    await complete(q, jobs.slice(10, 20)); // a repeat frees no slot
    expect(await q.claim(100)).toEqual([]);
  });

  it.each([0, 1, 3])(
    'that ran two jobs start the third after both have ended, with %i claims in between',
    async (claims) => {
      const q = await filledQueue();
      await q.run(q.scripts.limits.set({ groups: { maxRunning: 2 } }));
      const jobs = await q.claim(100);
      expect(jobs).toHaveLength(2 * GROUPS.length);
      await q.run(q.scripts.limits.set({ groups: { maxRunning: 1 } }));
      for (let i = 0; i < claims; i++) expect(await q.claim(100)).toEqual([]);
      const [first, second] = [0, 1].map((n) => jobs.filter(({ id }) => id.endsWith(`:${n}`)));
      await complete(q, first!);
      expect(await q.claim(100)).toEqual([]);
      await complete(q, second!);
      expect((await q.claim(100)).map(({ id }) => id).toSorted()).toEqual(GROUPS.map((group) => `${group}:2`));
    },
  );

  it('start nothing more where a smaller limit leaves them in turns, until a review has moved them', async () => {
    const q = await filledQueue();
    await q.run(q.scripts.limits.set({ groups: { maxRunning: 2 } }));
    const jobs = await q.claim(GROUPS.length); // one of each group, which stays in turns
    await q.run(q.scripts.limits.set({ groups: { maxRunning: 1 } }));
    for (let i = 0; i < 3; i++) expect(await q.claim(100)).toEqual([]);
    await complete(q, jobs);
    expect((await q.claim(100)).map(({ id }) => id).toSorted()).toEqual(GROUPS.map((group) => `${group}:1`));
  });

  it('give the bytes that a claim has no room for back to the head of their line', async () => {
    const q = await filledQueue();
    const claimed = await q.run(q.claimCall(100, { mostBytes: 20 }));
    expect(claimed.jobs).toHaveLength(10);
    const again = await q.claim(100);
    expect(again.map(({ id }) => id)).toEqual(GROUPS.slice(10).map((group) => `${group}:0`));
  });
});
