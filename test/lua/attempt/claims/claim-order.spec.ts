import { describe, expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, queueWith } from '../../../support/queue/queue-state.js';

describe('attempt/claim.lua: scheduled jobs', () => {
  it('moves due jobs, in the order of their due times, behind waiting ones', async () => {
    const q = testQueue();
    for (const id of ['due-2', 'due-1', 'not-due']) await q.add(id, { delay_ms: 60_000 });
    await q.addAll('first');
    await q.makeDue('due-1', 'due-2');
    expect((await q.claim(10)).map((job) => job.id)).toEqual(['first', 'due-1', 'due-2']);
    expect(await q.status('not-due')).toBe('scheduled');
  });

  it('counts the age of a promoted job from when it was due', async () => {
    const q = testQueue();
    await q.add('a', { delay_ms: 60_000 });
    await q.makeDue('a');
    const due = await q.redis.zscore(q.keys.scheduled, 'a');
    await q.claim(1);
    expect(await q.field('a', 'ready_at_ms')).toBe(due);
  });

  it('answers in how many ms the next job is due', async () => {
    const q = testQueue();
    await q.add('a', { delay_ms: 60_000 });
    const { nextDueInMs } = await expectUnchanged(q, () => q.run(q.claimCall(1)));
    expect(nextDueInMs).toBeGreaterThan(50_000);
    expect(nextDueInMs).toBeLessThanOrEqual(60_000);
  });

  it('I5: looks at the time of the server only', async () => {
    const q = testQueue();
    await q.add('a', { delay_ms: 60_000 });
    const call = q.claimCall(1);
    expect(call.args.some((arg) => typeof arg === 'number' && arg > 1e12)).toBe(false);
    expect((await q.run(call)).jobs).toEqual([]);
  });

  it('I4: moves a bounded slice, and wakes a worker for the rest', async () => {
    const q = testQueue();
    const ids = Array.from({ length: 150 }, (_, i) => `job-${i}`);
    for (const id of ids) await q.add(id, { delay_ms: 60_000 });
    await q.makeDue(...ids);
    await q.takeWake();
    expect(await q.claim(100)).toHaveLength(100);
    expect(await q.redis.zcard(q.keys.scheduled)).toBe(50);
    expect(await q.takeWake()).toBe(true);
  });

  it('gives a promoted job with a priority its place behind its peers', async () => {
    const q = testQueue();
    await q.add('late', { delay_ms: 60_000, priority: 5 });
    await q.add('peer', { priority: 5 });
    await q.addAll('plain');
    await q.makeDue('late');
    expect((await q.claim(3)).map((job) => job.id)).toEqual(['peer', 'late', 'plain']);
  });

  it('I7: promotes a job whose hash is gone, so that its claim sets it aside', async () => {
    const q = testQueue();
    await q.add('gone', { delay_ms: 60_000 });
    await q.makeDue('gone');
    await q.redis.del(q.keys.job('gone'));
    expect((await q.run(q.claimCall(1))).refused.map((job) => job.id)).toEqual(['gone']);
  });
});

describe('attempt/claim.lua: priorities', () => {
  it('hands out urgent jobs first, then the plain ones', async () => {
    const q = await queueWith('plain');
    await q.add('low', { priority: 1 });
    await q.add('high', { priority: 9 });
    expect((await q.claim(3)).map((job) => job.id)).toEqual(['high', 'low', 'plain']);
  });

  it('I8: keeps the order within a priority at both ends of its range, also very late in the life of a queue', async () => {
    const q = testQueue();
    await q.redis.set(q.keys.sequence, 2 ** 40 - 1_000);
    const lines = [1_000, 999, 2, 1].map((priority) => Array.from({ length: 20 }, (_, i) => `${priority}-${i}`));
    for (let i = 0; i < 20; i++) {
      for (const line of lines) await q.add(line[i]!, { priority: Number(line[i]!.split('-')[0]) });
    }
    expect(await q.ranked(q.keys.prioritized)).toEqual(lines.flat());
    const claimed = (await q.claim(80)).map((job) => job.id);
    for (const line of lines) {
      // Urgent lines let others pass now and then; within a line nobody passes.
      expect(claimed.filter((id) => line.includes(id))).toEqual(line);
    }
  });

  it('gives about every tenth claim to the plain jobs while urgent ones wait', async () => {
    const q = testQueue();
    for (let i = 0; i < 200; i++) await q.add(`urgent-${i}`, { priority: 9 });
    await q.addAll(...Array.from({ length: 50 }, (_, i) => `plain-${i}`));
    const plain: string[] = [];
    for (let i = 0; i < 100; i++) {
      const [job] = await q.claim(1);
      if (job!.id.startsWith('plain')) plain.push(job!.id);
    }
    expect(plain.length).toBeGreaterThanOrEqual(9);
    expect(plain.length).toBeLessThanOrEqual(11);
    expect(plain).toEqual(plain.map((_, i) => `plain-${i}`));
    q.broken = true; // a check of each would take long
  });

  it.each([0, 1])(
    'starves no plain job where each claim is followed by an urgent enqueue (offset %i)',
    async (offset) => {
      const q = testQueue();
      await q.redis.set(q.keys.sequence, offset);
      await q.addAll('plain');
      let claimed = '';
      for (let i = 0; i < 60 && claimed !== 'plain'; i++) {
        await q.add(`urgent-${i}`, { priority: 9 });
        claimed = (await q.claim(1))[0]!.id;
      }
      expect(claimed).toBe('plain');
    },
  );

  it.each([3, 8, 10, 20])('starves no lower priority with %i urgent jobs always waiting', async (waiting) => {
    const q = testQueue();
    await q.add('low', { priority: 1 });
    for (let i = 1; i < waiting; i++) await q.add(`first-${i}`, { priority: 9 });
    let claimed = '';
    for (let i = 0; i < 1_000 && claimed !== 'low'; i++) {
      claimed = (await q.claim(1))[0]!.id;
      await q.add(`urgent-${i}`, { priority: 9 });
    }
    expect(claimed).toBe('low');
    expect(await q.ranked(q.keys.prioritized)).not.toContain('low');
    q.broken = true; // a check of each would take long
  });

  it('starves no lower priority where plain jobs wait too', async () => {
    const q = testQueue();
    await q.add('low', { priority: 1 });
    await q.addAll(...Array.from({ length: 200 }, (_, i) => `plain-${i}`));
    for (let i = 0; i < 400; i++) await q.add(`urgent-${i}`, { priority: 9 });
    const claimed: string[] = [];
    for (let i = 0; i < 390; i++) {
      claimed.push((await q.claim(1))[0]!.id);
      await q.add(`more-${i}`, { priority: 9 });
    }
    for (let i = 0; i < 400; i++) claimed.push((await q.claim(1))[0]!.id);
    expect(claimed).toContain('low');
    q.broken = true; // a check of each would take long
  });

  it('I3: a batch across priorities and plain jobs is repeated as it was', async () => {
    const q = await queueWith('plain');
    await q.add('high', { priority: 9 });
    const first = await q.claim(2, { token: 't' });
    const second = await expectUnchanged(q, () => q.claim(2, { token: 't' }));
    expect(second.map((job) => job.id)).toEqual(first.map((job) => job.id));
  });
});
