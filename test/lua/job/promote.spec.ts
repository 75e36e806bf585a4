import { describe, expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, queueWith, claimedJob } from '../../support/queue/queue-state.js';

describe('job/promote.lua', () => {
  it('starts a scheduled job now, at the back, and wakes a worker', async () => {
    const q = testQueue();
    await q.add('a', { delay_ms: 60_000 });
    await q.addAll('b');
    await q.takeWake();
    const call = q.scripts.promote({ id: 'a' });
    expect(await q.run(call)).toBe('pending');
    expect(await q.pending()).toEqual(['b', 'a']);
    expect(await q.takeWake()).toBe(true);
    expect(await expectUnchanged(q, () => q.run(call))).toBe('pending');
  });

  it('keeps a priority, and puts a job enqueued with lifo to the front', async () => {
    const q = testQueue();
    await q.add('a', { delay_ms: 60_000, priority: 5 });
    await q.add('b', { delay_ms: 60_000, lifo: true });
    await q.addAll('c');
    await q.run(q.scripts.promote({ id: 'a' }));
    await q.run(q.scripts.promote({ id: 'b' }));
    expect(await q.ranked(q.keys.prioritized)).toEqual(['a']);
    expect(await q.pending()).toEqual(['b', 'c']);
  });

  it('keeps a job scheduled if its line has another type', async () => {
    const q = testQueue();
    await q.add('a', { delay_ms: 60_000 });
    await q.add('b', { delay_ms: 60_000, priority: 5 });
    await q.redis.set(q.keys.pending, 'text');
    await q.redis.set(q.keys.prioritized, 'text');
    for (const id of ['a', 'b']) {
      await expect(q.run(q.scripts.promote({ id }))).rejects.toThrow('WRONGTYPE');
      expect(await q.redis.zscore(q.keys.scheduled, id)).not.toBeNull();
      expect(await q.redis.hget(q.keys.job(id), 'status')).toBe('scheduled');
    }
    await q.redis.del(q.keys.pending, q.keys.prioritized);
    expect(await q.run(q.scripts.promote({ id: 'a' }))).toBe('pending');
  });

  it('refuses a job that waits for others to end', async () => {
    const q = await queueWith('first');
    await q.add('next', { after: ['first'] });
    expect(await expectUnchanged(q, () => q.run(q.scripts.promote({ id: 'next' })))).toBe('refused');
  });

  it('refuses a job that runs or has ended', async () => {
    const { q, job } = await claimedJob('a');
    expect(await q.run(q.scripts.promote({ id: 'a' }))).toBe('refused');
    await q.complete(job);
    expect(await expectUnchanged(q, () => q.run(q.scripts.promote({ id: 'a' })))).toBe('refused');
    expect(await q.run(q.scripts.promote({ id: 'none' }))).toBe('missing');
  });
});

it('lifo puts a job to the front of the line, also once its time has come', async () => {
  const q = await queueWith('a', 'b');
  await q.add('c', { lifo: true });
  await q.add('d', { lifo: true, delay_ms: 60_000 });
  expect(await q.pending()).toEqual(['c', 'a', 'b']);
  await q.makeDue('d');
  await q.run(q.scripts.sweep.promote({ limit: 10 }));
  expect(await q.pending()).toEqual(['d', 'c', 'a', 'b']);
});
