import { describe, expect, it } from '@jest/globals';
import { SeededQueue } from '../../../support/bullmq/seed-bullmq.js';
import { connect } from '../../../support/redis/redis.js';

async function seeded(ids: string[]): Promise<SeededQueue> {
  const old = new SeededQueue(connect());
  await old.source.begin();
  for (const id of ids) await old.wait(id);
  return old;
}

describe('migrate/bullmq/give-back.lua', () => {
  it('makes the jobs of a list the next to run, in their order, and wakes a worker', async () => {
    const old = await seeded(['a', 'b', 'c']);
    await old.source.take('wait', ['a', 'b']);
    await old.source.giveBack(await old.source.inTransit(), 'bullmq6');
    expect(await old.line()).toEqual(['a', 'b', 'c']);
    expect(await old.source.inTransit()).toEqual([]);
    expect(await old.redis.zrange(old.key('marker'), '0', '-1')).toEqual(['0']);
  });

  it('keeps the exact scores of sorted sets', async () => {
    const old = await seeded([]);
    await old.delayed('later', 1_900_000_000_123);
    await old.prioritized('urgent', 2 ** 20);
    const scores = () => Promise.all([old.redis.zscore(old.key('delayed'), 'later'), old.redis.zscore(old.key('prioritized'), 'urgent')]); // prettier-ignore
    const before = await scores();
    await old.source.take('delayed', ['later']);
    await old.source.take('prioritized', ['urgent']);
    await old.source.giveBack(await old.source.inTransit(), 'bullmq6');
    expect(await scores()).toEqual(before);
  });

  it.each([
    ['bull', 'paused'],
    ['bullmq5', 'paused'],
    ['bullmq6', 'wait'],
  ] as const)('gives a job back to the line of a paused queue of %s', async (era, line) => {
    const old = await seeded(['a']);
    await old.source.take('wait', ['a']);
    await old.redis.hset(old.key('meta'), 'paused', '1');
    await old.source.giveBack(await old.source.inTransit(), era);
    expect(await old.line(line)).toEqual(['a']);
  });

  it('gives a job back to the line of a queue that an early version of Bull 4 has paused', async () => {
    const old = await seeded(['a']);
    await old.source.take('wait', ['a']);
    await old.redis.set(old.key('meta-paused'), '1');
    await old.source.giveBack(await old.source.inTransit(), 'bull');
    expect([await old.line('paused'), await old.line('wait')]).toEqual([['a'], []]);
  });

  it('restores the priority of Bull, and writes no marker there', async () => {
    const old = await seeded(['a']);
    await old.redis.zadd(old.key('priority'), '4', 'a');
    await old.source.take('wait', ['a']);
    expect(await old.redis.zcard(old.key('priority'))).toBe(0);
    await old.source.giveBack(await old.source.inTransit(), 'bull');
    expect(await old.redis.zscore(old.key('priority'), 'a')).toBe('4');
    expect(await old.redis.exists(old.key('marker'))).toBe(0);
  });

  it('does nothing when repeated, and forgets a job that was deleted', async () => {
    const old = await seeded(['a', 'b']);
    await old.source.take('wait', ['a', 'b']);
    const taken = await old.source.inTransit();
    await old.redis.del(old.key('b'));
    await old.source.giveBack(taken, 'bullmq6');
    await old.source.giveBack(taken, 'bullmq6');
    expect(await old.line()).toEqual(['a']);
    expect(await old.source.inTransit()).toEqual([]);
  });

  it('only forgets a job that was deleted, if a newer one has its id', async () => {
    const old = new SeededQueue(connect());
    await old.source.begin();
    await old.wait('a');
    await old.source.take('wait', ['a']);
    const jobs = await old.source.inTransit();
    await old.redis.del(old.key('a'));
    await old.wait('a', { fields: { timestamp: 2 } });
    expect(await old.source.inTransit()).toMatchObject([{ id: 'a', fields: {} }]);
    await old.source.giveBack(jobs, 'bullmq6');
    expect([await old.redis.exists(old.key('a')), await old.line(), await old.source.entries()]).toEqual([
      1,
      ['a'],
      [],
    ]);
  });
});
