// The settings of groups, their lists, and their repair.
import { describe, expect, it } from '@jest/globals';
import { coreQueue } from '../../support/queue/core-queue.js';
import { inside } from '../../support/queue/inside.js';

const grouped = (group: string, count: number) => Array.from({ length: count }, (_, i) => ({ payload: i, group }));

describe('groups of a queue', () => {
  it('are listed by depth and by age, in pages', async () => {
    const { queue } = coreQueue();
    await queue.enqueueMany([...grouped('a', 2), ...grouped('b', 5), ...grouped('c', 1)]);
    const names = async (options: object) => (await queue.groups.list(options)).map(({ name }) => name);
    expect(await names({})).toEqual(['b', 'a', 'c']);
    expect(await names({ offset: 1, limit: 1 })).toEqual(['a']);
    expect(await names({ by: 'age' })).toEqual(['a', 'b', 'c']);
    await queue.claimMany(2);
    expect(await queue.groups.list({ limit: 2 })).toMatchObject([
      { name: 'b', pending: 4, running: 1 },
      { name: 'c', pending: 1, running: 0, pausedAt: null, heldBy: null, opensAt: null, limits: {} },
    ]);
    expect(await queue.groups.get('a')).toMatchObject({ pending: 1, running: 1 });
    expect(await queue.stats()).toMatchObject({ pending: 6, processing: 2 });
    expect((await queue.list('pending')).map(({ group }) => group)).toEqual(['a', 'b', 'b', 'b', 'b', 'c']);
  });

  it('have limits that are set, seen and cleared', async () => {
    const { queue } = coreQueue();
    await queue.limits.set({ groups: { maxRunning: 2, ungroupedWeight: 3 } });
    expect(await queue.limits.get()).toEqual({ source: 'set', groups: { maxRunning: 2, ungroupedWeight: 3 } });
    const limits = {
      maxRunning: 1,
      rateLimit: { limit: 7, periodMs: 1_000, burst: 2 },
      weight: 3,
      maxPending: 9,
    } as const;
    await queue.groups.set('a', { ...limits, onDeadHead: 'hold' });
    expect((await queue.groups.get('a')).limits).toEqual({ ...limits, onDeadHead: 'hold' });
    await queue.groups.clear('a');
    expect((await queue.groups.get('a')).limits).toEqual({});
    await expect(queue.groups.set('a', { weight: 0 })).rejects.toThrow(
      'group limits.weight: expected a whole number',
    );
    await expect(queue.groups.pause('')).rejects.toThrow('group: expected text of 1 to 256 characters');
    await expect(queue.enqueue({}, { group: '' })).rejects.toThrow('enqueue.group: expected text of 1 to 256');
  });

  it('a purge leaves no job of them, and no slot', async () => {
    const { queue } = coreQueue();
    await queue.enqueueMany([...grouped('a', 3), ...grouped('b', 3)]);
    await queue.claimMany(3);
    expect(await queue.purge({ confirm: queue.name })).toBe(6);
    expect(await queue.groups.list()).toEqual([]);
    await queue.enqueue({}, { group: 'a' });
    expect(await queue.claimMany(5)).toHaveLength(1);
  });

  it('the doctor recounts slots, holds and places', async () => {
    const { queue, state } = coreQueue();
    await queue.limits.set({ groups: { maxRunning: 1 } });
    await queue.enqueueMany([...grouped('a', 2), ...grouped('b', 2), ...grouped('c', 2)]);
    const { keys } = await inside(queue).scripts();
    await state.redis.zadd(`${keys.groupsPrefix}running:a`, 1, 'gone');
    await state.redis.hset(`${keys.groupsPrefix}state:b`, 'hold', 'gone');
    await state.redis.zrem(`${keys.groupsPrefix}turns`, 'a', 'b', 'c');
    const { findings } = await queue.doctor({ repair: true });
    expect(findings.map(({ kind, subject }) => `${kind} ${subject}`).toSorted()).toEqual([
      'group a',
      'group b',
      'group c',
    ]);
    expect((await queue.doctor()).findings).toEqual([]);
    expect(await queue.claimMany(9)).toHaveLength(3);
  });
});
