import { describe, expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, queueWith, claimedJob } from '../../support/queue/queue-state.js';

describe('job/run-again.lua', () => {
  it('sends a completed job back to work, without its result and its end', async () => {
    const { q, job } = await claimedJob('a', { unique: 'k', unique_for: 'unfinished' });
    await q.complete(job, '1');
    const call = q.scripts.runAgain({ id: 'a', request: 'request' });
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
    expect(await q.run(q.scripts.runAgain({ id: 'a', request: 'another' }))).toBe('refused');
  });

  it('sends a cancelled one too, and refuses a dead letter', async () => {
    const q = await queueWith('a', 'b');
    await q.run(q.scripts.cancel({ id: 'a' }));
    expect(await q.run(q.scripts.runAgain({ id: 'a', request: 'r' }))).toBe('pending');
    const [job] = await q.claim(1);
    expect(job!.id).toBe('b');
    const failure = { ...job!, error: { name: 'E', message: 'no' }, final: true, backoffMs: 0 };
    await q.run(q.scripts.fail([failure]));
    expect(await expectUnchanged(q, () => q.run(q.scripts.runAgain({ id: 'b', request: 'r' })))).toBe('refused');
    expect(await q.run(q.scripts.runAgain({ id: 'none', request: 'r' }))).toBe('missing');
  });
});

it('a job that a newer one ended names it no longer', async () => {
  const q = await queueWith('a');
  await q.redis.hset(q.keys.job('a'), 'superseded_by', 'b');
  await q.run(q.scripts.cancel({ id: 'a' }));
  expect(await q.run(q.scripts.runAgain({ id: 'a', request: 'r' }))).toBe('pending');
  expect(await q.job('a')).not.toHaveProperty('superseded_by');
});

it('a job of a group is promoted, given a priority and run again in the line of its group', async () => {
  const q = testQueue();
  await q.add('a', { group: 'g' });
  await q.add('b', { group: 'g', delay_ms: 60_000 });
  expect(await q.run(q.scripts.promote({ id: 'b' }))).toBe('pending');
  expect(await q.run(q.scripts.setPriority({ id: 'b', priority: 5 }))).toBe('updated');
  const [first] = await q.claim(1);
  expect(first!.id).toBe('b');
  await q.run(q.scripts.complete([{ ...first!, result: '' }], true));
  expect(await q.run(q.scripts.runAgain({ id: 'b', request: 'r' }))).toBe('pending');
  expect((await q.claim(2)).map(({ id }) => id).toSorted()).toEqual(['a', 'b']);
});
