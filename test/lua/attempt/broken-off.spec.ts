import { describe, expect, it } from '@jest/globals';
import type { ClaimedJob } from '#queue/model/job.js';
import { testQueue, type TestQueue, claimedJob } from '../../support/queue/queue-state.js';

const failure = { error: { name: 'E', message: 'no' }, final: false, backoffMs: 0 };

/** Puts a string where a key was. Returns a function that puts the key back. */
async function breakKey(q: TestQueue, key: string): Promise<() => Promise<void>> {
  const existed = (await q.redis.exists(key)) === 1;
  if (existed) await q.redis.rename(key, `${key}:aside`);
  await q.redis.set(key, 'of another type');
  return async () => {
    await q.redis.del(key);
    if (existed) await q.redis.rename(`${key}:aside`, key);
  };
}

const completeAll = (q: TestQueue, jobs: readonly ClaimedJob[], options: { resultTtlMs?: number } = {}) =>
  q.run(q.scripts.complete(jobs.map((job) => ({ ...job, result: '"done"', ...options }))));

async function reclaimAll(q: TestQueue): Promise<unknown> {
  await q.expireClaims(...(await q.ranked(q.keys.claims)));
  return q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: Number.MAX_SAFE_INTEGER, waitMs: 0 }));
}

const nothing = { reclaimed: [], more: false };

describe('a complete that breaks off at a key of another type', () => {
  it('runs no job again: a reclaim ends the completions, once the key is repaired', async () => {
    const q = testQueue();
    await q.add('bad', { unique: 'k', unique_for: 'unfinished', group: 'g' });
    await q.add('good', { priority: 1 });
    await q.add('after', { after: ['bad'] });
    const jobs = (await q.claim(2)).toReversed(); // bad ends first, so that good is behind the error
    await q.redis.rename(q.keys.unique, `${q.keys.unique}:aside`);
    await q.redis.set(q.keys.unique, 'not a hash');
    const complete = () => q.run(q.scripts.complete(jobs.map((job) => ({ ...job, result: '"done"' }))));
    const reclaim = async () => {
      await q.expireClaims('bad');
      return q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: Number.MAX_SAFE_INTEGER, waitMs: 0 }));
    };
    await expect(complete()).rejects.toThrow(/WRONGTYPE/);
    expect(await reclaim()).toEqual({ reclaimed: [], more: false });
    expect((await q.ranked(q.keys.claims)).toSorted()).toEqual(['bad', 'good']);

    await q.redis.rename(`${q.keys.unique}:aside`, q.keys.unique);
    expect(await complete()).toEqual({ lost: [], followed: [] }); // ends the other one
    expect(await reclaim()).toEqual({ reclaimed: [], more: false });
    expect(await q.redis.zcard(q.keys.claims)).toBe(0);
    expect((await q.redis.lrange(q.keys.completed, '0', '-1')).toSorted()).toEqual(['bad', 'good']);
    expect(await q.total('completed')).toBe(2);
    expect(await q.redis.hlen(q.keys.unique)).toBe(0);
    expect(await q.ranked(q.keys.keptResults)).toEqual(['bad']); // for the job after it
    expect(await q.redis.pttl(q.keys.job('good'))).toBeGreaterThan(0);
    expect(await q.claim(2)).toMatchObject([{ id: 'after' }]);
  });

  it.each(['turns', 'depths', 'ends', 'finishes'])(
    'frees the group and counts the job once, where the %s of the groups are broken',
    async (name) => {
      const q = testQueue();
      await q.run(q.scripts.limits.set({ groups: { maxRunning: 1 } }));
      for (const id of ['first', 'second', 'third']) await q.add(id, { group: 'g' });
      const jobs = await q.claim(3);
      const repair = await breakKey(q, `${q.keys.groupsPrefix}${name}`);
      for (let i = 0; i < 3; i++) {
        await completeAll(q, jobs).catch(String);
        await reclaimAll(q).catch(String);
      }
      await repair();

      await completeAll(q, jobs);
      for (let i = 0; i < 2; i++) expect(await reclaimAll(q)).toEqual(nothing);
      expect(await q.total('completed')).toBe(1);
      expect(await q.redis.lrange(q.keys.completed, '0', '-1')).toEqual(['first']);
      expect(await q.claim(3)).toMatchObject([{ id: 'second' }]);
    },
  );

  it.each(['stats', 'completed'] as const)('counts the job once, where %s is broken', async (name) => {
    const q = testQueue();
    await q.add('plain');
    await q.add('unique', { unique: 'k', unique_for: 'unfinished' });
    const jobs = await q.claim(2);
    const repair = await breakKey(q, q.keys[name]);
    for (let i = 0; i < 3; i++) {
      await completeAll(q, jobs).catch(String);
      await reclaimAll(q).catch(String);
    }
    await repair();

    for (let i = 0; i < 2; i++) expect(await reclaimAll(q)).toEqual(nothing);
    expect(await q.redis.zcard(q.keys.claims)).toBe(0);
    expect(await q.total('completed')).toBe(2);
    expect(await q.redis.pttl(q.keys.job('plain'))).toBeGreaterThan(0);
    expect(await q.redis.llen(q.keys.completed)).toBe(2);
  });

  it('keeps a job until its end is counted, however short its result is kept', async () => {
    const q = testQueue();
    await q.add('short');
    await q.add('bad', { unique: 'k', unique_for: 'unfinished' });
    const jobs = await q.claim(2);
    const repair = await breakKey(q, q.keys.unique);
    await expect(completeAll(q, jobs, { resultTtlMs: 0 })).rejects.toThrow(/WRONGTYPE/);
    await repair();
    expect(await reclaimAll(q)).toEqual(nothing);
    expect(await q.redis.zcard(q.keys.dead)).toBe(0);
    expect(await q.total('completed')).toBe(2);
  });

  it('buries no job twice whose claim alone was left', async () => {
    const { q, job } = await claimedJob('a');
    await q.run(q.scripts.fail([{ ...job, ...failure, final: true, begun: true }]));
    await q.redis.zadd(q.keys.claims, 1, 'a');
    await reclaimAll(q);
    expect(await q.redis.zcard(q.keys.claims)).toBe(0);
    expect(await q.redis.lrange(q.keys.failed, 0, -1)).toEqual(['a']);
    expect(await q.total('failed')).toBe(1);
  });

  it('counts no completion of a client of the pattern, which counted it itself', async () => {
    const q = testQueue();
    await q.add('job');
    await q.claim(1);
    await q.redis.hset(q.keys.job('job'), 'status', 'completed', 'claim_token', 'of that client');
    expect(await reclaimAll(q)).toEqual(nothing);
    expect(await q.redis.zcard(q.keys.claims)).toBe(0);
    expect(await q.total('completed')).toBe(0);
    expect(await q.redis.llen(q.keys.completed)).toBe(0);
    q.broken = true; // the list of that client is not kept here
  });
});

describe.each([
  [
    'fail',
    (q: TestQueue, jobs: readonly ClaimedJob[]) => q.scripts.fail(jobs.map((job) => ({ ...job, ...failure }))),
  ],
  [
    'release',
    (q: TestQueue, jobs: readonly ClaimedJob[]) =>
      q.scripts.release(jobs.map((job) => ({ ...job, reason: 'interruption' as const, delayMs: 0 }))),
  ],
] as const)('a %s that breaks off in the groups', (_verb, settle) => {
  it('leaves the claim to a reclaim, which lets the group go on', async () => {
    const q = testQueue();
    await q.run(q.scripts.limits.set({ groups: { maxRunning: 1 } }));
    for (const id of ['first', 'second']) await q.add(id, { group: 'g' });
    const jobs = await q.claim(1);
    const repair = await breakKey(q, `${q.keys.groupsPrefix}turns`);
    await expect(q.run<unknown>(settle(q, jobs))).rejects.toThrow(/WRONGTYPE/);
    expect(await q.ranked(q.keys.claims)).toEqual(['first']);
    await repair();

    await reclaimAll(q);
    expect(await q.redis.zcard(q.keys.claims)).toBe(0);
    expect(await q.claim(1)).toHaveLength(1);
  });
});
