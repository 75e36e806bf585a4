// The limits that a producer's code gives for one group. They come with the jobs of the group: see lua/lib/group/configure.
import { describe, expect, it } from '@jest/globals';
import type { GroupLimits } from '#queue/model/limits.js';
import { testQueue, type TestQueue } from '../../support/queue/queue-state.js';

const DAY = 86_400_000;

/** Adds jobs of the group `g`, with limits for it. Null gives none, as a producer does whose code has none any more. */
async function add(q: TestQueue, ids: readonly string[], groupLimits: GroupLimits | null, delayMs?: number) {
  const options = { group: 'g', groupLimits, ...(delayMs !== undefined && { delayMs }) };
  await q.run(q.scripts.enqueue(ids.map((id) => ({ id, name: q.name, payload: '{}', options }))));
}

const stateOf = (q: TestQueue) => `${q.keys.groupsPrefix}state:g`;

/** Returns how many jobs of the group start now. */
const started = async (q: TestQueue) => (await q.claim(9)).length;

describe('the limits of a group in the code of a producer', () => {
  it('are in force with the first job, until other ones come', async () => {
    const q = testQueue();
    await add(q, ['a', 'b', 'c', 'd'], { maxRunning: 1 });
    expect(await started(q)).toBe(1);
    await add(q, ['e'], { maxRunning: 3 });
    expect(await started(q)).toBe(2);
  });

  it('end with a job of a producer whose code has none', async () => {
    const q = testQueue();
    await add(q, ['a', 'b'], { maxRunning: 1 });
    await add(q, ['c'], null);
    expect(await q.redis.hexists(stateOf(q), 'configured_until_ms')).toBe(0);
    expect(await started(q)).toBe(3);
  });

  it('give way to limits that are set at run time, and come back when those are cleared', async () => {
    const q = testQueue();
    await q.run(q.scripts.groups.set({ name: 'g', limits: { maxRunning: 2 } }));
    await add(q, ['a', 'b', 'c'], { maxRunning: 1 });
    expect(await started(q)).toBe(2);
    await q.run(q.scripts.groups.clear({ name: 'g' }));
    expect(await started(q)).toBe(0);
    expect(await q.redis.hget(stateOf(q), 'max_running')).toBe('1');
  });

  it('are forgotten once the group has had no job for a day, and not before', async () => {
    const q = testQueue();
    await add(q, ['a'], { maxRunning: 1 });
    const [job] = await q.claim(1);
    await q.complete(job!);
    const sweep = async () => {
      await q.redis.zadd(`${q.keys.groupsPrefix}resting`, 1, 'g');
      await q.run(q.scripts.sweep.tidy({ limit: 10 }));
      await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: Number.MAX_SAFE_INTEGER, waitMs: 0 }));
      await q.claim(1);
      return q.redis.hget(stateOf(q), 'configured');
    };
    const until = Number(await q.redis.hget(stateOf(q), 'configured_until_ms'));
    expect(Math.abs(until - (await q.now()) - DAY)).toBeLessThan(60_000);
    expect(await sweep()).not.toBeNull();
    await q.redis.hset(stateOf(q), 'configured_until_ms', 1);
    expect(await sweep()).toBeNull();
    expect(await q.redis.hexists(stateOf(q), 'max_running')).toBe(0);
  });

  it('are kept while a job of the group runs, however long', async () => {
    const q = testQueue();
    await add(q, ['a'], { maxRunning: 1 });
    await q.claim(1);
    await q.redis.hset(stateOf(q), 'configured_until_ms', 1);
    const resting = `${q.keys.groupsPrefix}resting`;
    await q.redis.zadd(resting, 1, 'g');
    await q.add('other');
    await q.claim(1);
    expect(Number(await q.redis.zscore(resting, 'g'))).toBeGreaterThan(await q.now());
    expect(await q.redis.hget(stateOf(q), 'max_running')).toBe('1');
  });

  it('of a job that starts later are kept for a day behind its start', async () => {
    const q = testQueue();
    await add(q, ['a'], { maxRunning: 1 }, 2 * DAY);
    const until = Number(await q.redis.hget(stateOf(q), 'configured_until_ms'));
    expect(Math.abs(until - (await q.now()) - 3 * DAY)).toBeLessThan(60_000);
  });
});
