// promote, update, set-priority and run-again: what operators change of one job.
import { describe, expect, it } from '@jest/globals';
import { expectUnchanged, testQueue } from '../../support/queue/queue-state.js';

describe('promote.lua', () => {
  it('starts a scheduled job now, at the back, and wakes a worker', async () => {
    const q = testQueue();
    await q.add('a', { delay_ms: 60_000 });
    await q.addAll('b');
    await q.takeWake();
    const call = q.scripts.promoteJob('a');
    expect(await q.run(call)).toBe('pending');
    expect(await q.pending()).toEqual(['b', 'a']);
    expect(await q.takeWake()).toBe(true);
    expect(await expectUnchanged(q, () => q.run(call))).toBe('pending');
  });

  it('keeps a priority, and puts what was enqueued as lifo to the front', async () => {
    const q = testQueue();
    await q.add('a', { delay_ms: 60_000, priority: 5 });
    await q.add('b', { delay_ms: 60_000, lifo: true });
    await q.addAll('c');
    await q.run(q.scripts.promoteJob('a'));
    await q.run(q.scripts.promoteJob('b'));
    expect(await q.ranked(q.keys.prioritized)).toEqual(['a']);
    expect(await q.pending()).toEqual(['b', 'c']);
  });

  it('refuses what runs or has ended', async () => {
    const q = testQueue();
    const job = await q.addAndClaim('a');
    expect(await q.run(q.scripts.promoteJob('a'))).toBe('refused');
    await q.run(q.scripts.complete([{ ...job, result: '' }]));
    expect(await expectUnchanged(q, () => q.run(q.scripts.promoteJob('a')))).toBe('refused');
    expect(await q.run(q.scripts.promoteJob('none'))).toBe('missing');
  });
});

describe('update.lua', () => {
  it.each([{}, { delay_ms: 60_000 }, { priority: 3 }])('gives a job with %j another payload', async (options) => {
    const q = testQueue();
    await q.add('a', options);
    const before = await q.snapshot();
    const call = q.scripts.update('a', '{"n":2}');
    expect(await q.run(call)).toBe('updated');
    expect(await q.field('a', 'payload')).toBe('{"n":2}');
    expect(Object.keys(await q.snapshot())).toEqual(Object.keys(before));
    expect(await expectUnchanged(q, () => q.run(call))).toBe('updated');
  });

  it('refuses a job that runs, and one of another name', async () => {
    const q = testQueue();
    await q.addAndClaim('a');
    await q.addAll('b');
    await expectUnchanged(q, async () => {
      expect(await q.run(q.scripts.update('a', '1'))).toBe('refused');
      expect(await q.run(q.scripts.update('b', '1', 'other'))).toBe('refused');
      expect(await q.run(q.scripts.update('none', '1'))).toBe('missing');
    });
  });
});

describe('set-priority.lua', () => {
  it('moves a plain job before the others, as old as it was, and back again', async () => {
    const q = testQueue();
    await q.addAll('a', 'b');
    const call = q.scripts.setPriority('b', 5);
    expect(await q.run(call)).toBe('updated');
    expect(await q.ranked(q.keys.prioritized)).toEqual(['b']);
    expect(await q.pending()).toEqual(['a']);
    expect(await q.job('b')).not.toHaveProperty('ready_at_ms');
    expect(await expectUnchanged(q, () => q.run(call))).toBe('updated');
    expect(await q.run(q.scripts.setPriority('b', 0))).toBe('updated');
    expect(await q.pending()).toEqual(['a', 'b']);
    expect(await q.job('b')).not.toHaveProperty('priority');
  });

  it('leaves a scheduled job its time', async () => {
    const q = testQueue();
    await q.add('a', { delay_ms: 60_000 });
    await q.run(q.scripts.setPriority('a', 5));
    expect(await q.job('a')).toMatchObject({ status: 'scheduled', priority: '5' });
    await q.makeDue('a');
    await q.run(q.scripts.promote(10));
    expect(await q.ranked(q.keys.prioritized)).toEqual(['a']);
  });

  it('refuses a job that runs', async () => {
    const q = testQueue();
    await q.addAndClaim('a');
    expect(await expectUnchanged(q, () => q.run(q.scripts.setPriority('a', 5)))).toBe('refused');
    expect(await q.run(q.scripts.setPriority('none', 5))).toBe('missing');
  });
});

describe('run-again.lua', () => {
  it('sends a completed job back to work, without its result and its end', async () => {
    const q = testQueue();
    const job = await q.addAndClaim('a', { unique: 'k', unique_for: 'unfinished' });
    await q.run(q.scripts.complete([{ ...job, result: '1' }]));
    const call = q.scripts.runAgain('a', 'request');
    expect(await q.run(call)).toBe('pending');
    expect(await q.pending()).toEqual(['a']);
    const hash = await q.job('a');
    expect(hash).toMatchObject({ status: 'pending', attempts: '0' });
    expect(hash).not.toHaveProperty('result');
    expect(await q.redis.pttl(q.keys.job('a'))).toBe(-1);
    expect(await q.redis.hget(q.keys.unique, 'k')).toBe('a');
    expect(await q.redis.lrange(q.keys.completed, 0, -1)).toEqual([]);
    expect(await expectUnchanged(q, () => q.run(call))).toBe('pending');
    expect((await q.claim(1))[0]).toMatchObject({ id: 'a', attempt: 1 });
    expect(await expectUnchanged(q, () => q.run(call))).toBe('pending');
    expect(await q.run(q.scripts.runAgain('a', 'another'))).toBe('refused');
  });

  it('sends a cancelled one too, and refuses a dead letter', async () => {
    const q = testQueue();
    await q.addAll('a', 'b');
    await q.run(q.scripts.cancel('a'));
    expect(await q.run(q.scripts.runAgain('a', 'r'))).toBe('pending');
    const [job] = await q.claim(1);
    expect(job!.id).toBe('b');
    const failure = { ...job!, error: { name: 'E', message: 'no' }, final: true, backoffMs: 0 };
    await q.run(q.scripts.fail([failure]));
    expect(await expectUnchanged(q, () => q.run(q.scripts.runAgain('b', 'r')))).toBe('refused');
    expect(await q.run(q.scripts.runAgain('none', 'r'))).toBe('missing');
  });
});

describe('a job of a group', () => {
  it('is promoted, given a priority and run again in the line of its group', async () => {
    const q = testQueue();
    await q.add('a', { group: 'g' });
    await q.add('b', { group: 'g', delay_ms: 60_000 });
    expect(await q.run(q.scripts.promoteJob('b'))).toBe('pending');
    expect(await q.run(q.scripts.setPriority('b', 5))).toBe('updated');
    const [first] = await q.claim(1);
    expect(first!.id).toBe('b');
    await q.run(q.scripts.complete([{ ...first!, result: '' }], true));
    expect(await q.run(q.scripts.runAgain('b', 'r'))).toBe('pending');
    expect((await q.claim(2)).map(({ id }) => id).toSorted()).toEqual(['a', 'b']);
  });
});

describe('lifo', () => {
  it('puts a job to the front of the line, also once its time has come', async () => {
    const q = testQueue();
    await q.addAll('a', 'b');
    await q.add('c', { lifo: true });
    await q.add('d', { lifo: true, delay_ms: 60_000 });
    expect(await q.pending()).toEqual(['c', 'a', 'b']);
    await q.makeDue('d');
    await q.run(q.scripts.promote(10));
    expect(await q.pending()).toEqual(['d', 'c', 'a', 'b']);
  });
});
