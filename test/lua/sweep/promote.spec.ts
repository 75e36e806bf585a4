import { describe, expect, it } from '@jest/globals';
import { expectUnchanged, testQueue } from '../../support/queue/queue-state.js';

describe('sweep/promote.lua', () => {
  it('moves due jobs, the earliest first, and wakes a worker', async () => {
    const q = testQueue();
    for (const id of ['b', 'a', 'later']) await q.add(id, { delay_ms: 60_000 });
    await q.makeDue('a', 'b');
    const due = await q.redis.zscore(q.keys.scheduled, 'a');
    await q.takeWake();
    expect(await q.run(q.scripts.sweep.promote({ limit: 100 }))).toBe(2);
    expect(await q.pending()).toEqual(['a', 'b']);
    expect(await q.job('a')).toMatchObject({ status: 'pending', ready_at_ms: due });
    expect(await q.ranked(q.keys.scheduled)).toEqual(['later']);
    expect(await q.takeWake()).toBe(true);
  });

  it('moves nothing where nothing is due, and wakes no worker', async () => {
    const q = testQueue();
    expect(await expectUnchanged(q, () => q.run(q.scripts.sweep.promote({ limit: 100 })))).toBe(0);
    await q.add('a', { delay_ms: 60_000 });
    await q.takeWake();
    expect(await expectUnchanged(q, () => q.run(q.scripts.sweep.promote({ limit: 100 })))).toBe(0);
  });

  it('I4: moves at most its limit; repeated, the next slice', async () => {
    const q = testQueue();
    const ids = ['a', 'b', 'c', 'd', 'e'];
    for (const id of ids) await q.add(id, { delay_ms: 60_000 });
    await q.makeDue(...ids);
    const moved: number[] = [];
    for (let i = 0; i < 4; i++) moved.push(await q.run(q.scripts.sweep.promote({ limit: 2 })));
    expect(moved).toEqual([2, 2, 1, 0]);
    expect(await q.pending()).toEqual(ids);
  });

  it('ranks a prioritized job behind its peers', async () => {
    const q = testQueue();
    await q.add('late', { delay_ms: 60_000, priority: 5 });
    await q.add('peer', { priority: 5 });
    await q.makeDue('late');
    await q.run(q.scripts.sweep.promote({ limit: 10 }));
    expect(await q.ranked(q.keys.prioritized)).toEqual(['peer', 'late']);
    expect(await q.field('late', 'rank')).toBe(await q.redis.zscore(q.keys.prioritized, 'late'));
  });

  it.each(['completed', 'failed', 'cancelled', 'processing'])('drops an id whose job is %s', async (status) => {
    const q = testQueue();
    q.broken = true;
    await q.add('a', { delay_ms: 60_000 });
    await q.redis.hset(q.keys.job('a'), { status });
    if (status === 'processing') await q.redis.zadd(q.keys.claims, 1, 'a');
    await q.makeDue('a');
    expect(await q.run(q.scripts.sweep.promote({ limit: 10 }))).toBe(1);
    expect([await q.pending(), await q.ranked(q.keys.scheduled), await q.status('a')]).toEqual([[], [], status]);
  });

  it('keeps due jobs scheduled while their line has another type, and doubles none', async () => {
    const q = testQueue();
    await q.add('plain', { delay_ms: 60_000 });
    await q.add('front', { delay_ms: 60_000, lifo: true });
    await q.add('urgent', { delay_ms: 60_000, priority: 5 });
    await q.makeDue('plain', 'front', 'urgent');
    for (const key of [q.keys.pending, q.keys.prioritized]) {
      await q.redis.set(key, 'text');
      await expect(q.run(q.scripts.sweep.promote({ limit: 10 }))).rejects.toThrow('WRONGTYPE');
      expect((await q.ranked(q.keys.scheduled)).toSorted()).toEqual(['front', 'plain', 'urgent']);
      await q.redis.del(key);
    }
    expect(await q.run(q.scripts.sweep.promote({ limit: 10 }))).toBe(3);
    expect(await q.pending()).toEqual(['front', 'plain']);
    expect(await q.ranked(q.keys.prioritized)).toEqual(['urgent']);
  });

  it('I7: a nonsensical priority holds up nothing', async () => {
    const q = testQueue();
    for (const id of ['bad', 'next']) await q.add(id, { delay_ms: 60_000 });
    await q.redis.hset(q.keys.job('bad'), 'priority', 'urgent!');
    await q.makeDue('bad', 'next');
    expect(await q.run(q.scripts.sweep.promote({ limit: 10 }))).toBe(2);
    expect((await q.claim(2)).map((job) => job.id).toSorted()).toEqual(['bad', 'next']);
  });
});
