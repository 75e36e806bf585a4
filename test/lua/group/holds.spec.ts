// A hold of a group ends with the job that holds it, however that job is deleted. It also ends when the settings
// change.
import { describe, expect, it } from '@jest/globals';
import type { GroupsOptions } from '#queue/model/limits.js';
import { testQueue, type TestQueue } from '../../support/queue/queue-state.js';

const HOUR = 3_600_000;
const error = { name: 'Error', message: 'no' };
const ids = async (q: TestQueue) => (await q.claim(5)).map(({ id }) => id);

async function ordered(options: GroupsOptions = {}): Promise<TestQueue> {
  const q = testQueue();
  await q.run(q.scripts.limits.set({ groups: { maxRunning: 1, ...options } }));
  return q;
}

/** Makes a queue whose group is held by its only job, which is dead or waits for its retry. */
async function heldBy(how: 'dead' | 'backoff'): Promise<TestQueue> {
  const q = await ordered({ onDeadHead: 'hold' });
  await q.add('head', { group: 'g', max_attempts: 2 });
  await failHead(q, how);
  return q;
}

async function failHead(q: TestQueue, how: 'dead' | 'backoff'): Promise<void> {
  const [head] = await q.claim(1);
  const final = how === 'dead';
  await q.run(q.scripts.fail([{ ...head!, error, final, backoffMs: final ? 0 : HOUR, begun: true }]));
}

const stateOf = (q: TestQueue, group: string) => q.redis.hgetall(`${q.keys.groupsPrefix}state:${group}`);
const runs = async (q: TestQueue, group: string) => {
  await q.add('next', { group });
  return ids(q);
};

describe('a purge', () => {
  it.each(['dead', 'backoff'] as const)('ends the hold of a group whose only job is %s', async (how) => {
    const q = await heldBy(how);
    await q.run(q.scripts.purge({ limit: 100 }));
    expect(await stateOf(q, 'g')).toEqual({});
    expect(await runs(q, 'g')).toEqual(['next']);
  });

  it('leaves no slot in use where it ends after the slice with the claims', async () => {
    const q = await ordered();
    for (const id of ['a', 'b', 'c']) await q.add(id, { group: 'g' });
    expect(await ids(q)).toEqual(['a']);
    expect(await q.run(q.scripts.purge({ limit: 1 }))).toEqual({ deleted: 1, more: true });
    expect(await ids(q)).toEqual(['b']);
  });

  it('keeps the spent rate until it no longer matters, and leaves nothing behind then', async () => {
    const q = await ordered({ rateLimit: { limit: 1, periodMs: HOUR } });
    await q.add('a', { group: 'g' });
    expect(await ids(q)).toEqual(['a']);
    await q.run(q.scripts.purge({ limit: 100 }));
    expect(await runs(q, 'g')).toEqual([]); // a purge opens no rate
    await q.run(q.scripts.purge({ limit: 100 }));
    await passRate(q, 'g');
    await q.run(q.scripts.sweep.promote({ limit: 10 }));
    const left = Object.keys(await q.snapshot()).filter((key) => key.startsWith('groups:'));
    expect(left).toEqual(['groups:settings']);
  });
});

/** Ends the rate of a group without jobs, for the server too. */
async function passRate(q: TestQueue, group: string): Promise<void> {
  await q.redis.hset(`${q.keys.groupsPrefix}state:${group}`, 'rate_tat_us', '1');
  await q.redis.zadd(`${q.keys.groupsPrefix}resting`, 'XX', 1, group);
}

describe('a dead letter whose hash is gone', () => {
  const ends: [string, (q: TestQueue) => Promise<unknown>][] = [
    ['the sweep', (q) => q.run(q.scripts.sweep.tidy({ limit: 0 }))],
    ['a redrive', (q) => q.run(q.scripts.deadLetters.redrive({ ids: ['head'] }))],
    ['a discard', (q) => q.run(q.scripts.deadLetters.discard({ letters: [{ id: 'head' }] }))],
    ['a clean', (q) => q.run(q.scripts.clean({ place: 'failed', olderThanMs: 0, limit: 10, passed: 0 }))],
  ];
  it.each(ends)('holds its group no more after %s', async (_by, end) => {
    const q = await heldBy('dead');
    await q.redis.del(q.keys.job('head'));
    await end(q);
    expect(await runs(q, 'g')).toEqual(['next']);
  });
});

it('a retry whose hash is gone holds its group until its time at most', async () => {
  const q = await heldBy('backoff');
  await q.redis.del(q.keys.job('head'));
  await q.makeDue('head');
  await q.run(q.scripts.sweep.promote({ limit: 10 }));
  await q.redis.lrem(q.keys.pending, 0, 'head');
  expect(await runs(q, 'g')).toEqual(['next']);
});

describe('a hold is judged by the settings of now', () => {
  it("ends with onDeadHead 'skip', of the group or of all", async () => {
    const one = await heldBy('dead');
    await one.run(one.scripts.groups.set({ name: 'g', limits: { onDeadHead: 'skip' } }));
    expect(await runs(one, 'g')).toEqual(['next']);
    const all = await heldBy('dead');
    await all.run(all.scripts.limits.set({ groups: { maxRunning: 1 } }));
    expect(await runs(all, 'g')).toEqual(['next']);
  });

  it.each(['dead', 'backoff'] as const)('ends where the group may run two (%s)', async (how) => {
    const q = await heldBy(how);
    await q.run(q.scripts.groups.set({ name: 'g', limits: { maxRunning: 2 } }));
    expect(await runs(q, 'g')).toEqual(['next']);
  });

  it('begins again for the next head that fails', async () => {
    const q = await heldBy('dead');
    await q.run(q.scripts.groups.set({ name: 'g', limits: { onDeadHead: 'skip' } }));
    await q.add('second', { group: 'g', max_attempts: 2 });
    await failHead(q, 'backoff');
    expect(await runs(q, 'g')).toEqual([]);
    await q.run(q.scripts.deadLetters.redrive({ ids: ['head'] })); // no hold of its own any more
    expect(await ids(q)).toEqual([]);
    await q.makeDue('second');
    expect(await ids(q)).toEqual(['head']); // which is older
  });
});
