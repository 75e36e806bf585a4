import { describe, expect, it } from '@jest/globals';
import { SeededBee } from '../../../support/bullmq/seed-bee.js';
import { connect } from '../../../support/redis/redis.js';

describe('migrate/bee/give-back.lua', () => {
  it('makes the jobs of the list the next to run, in their order', async () => {
    const old = new SeededBee(connect());
    await old.source.begin();
    for (const id of ['a', 'b', 'c']) await old.wait(id);
    await old.source.take('wait', ['a', 'b']);
    await old.source.giveBack(await old.source.inTransit());
    expect(await old.line()).toEqual(['a', 'b', 'c']);
    expect(await old.source.entries()).toEqual([]);
  });

  it('keeps the due time of a delayed job, and tells it to the workers', async () => {
    const [old, listener] = [new SeededBee(connect()), connect()];
    await old.source.begin();
    await old.delayed('later', 1_900_000_000_123);
    await old.source.take('delayed', ['later']);
    const told = new Promise((resolve) => listener.once('message', (_channel, text) => resolve(text)));
    await listener.subscribe(old.key('earlierDelayed'));
    await old.source.giveBack(await old.source.inTransit());
    expect(await old.redis.zscore(old.key('delayed'), 'later')).toBe('1900000000123');
    expect(await told).toBe('1900000000123');
  });

  it('forgets a job that was deleted meanwhile', async () => {
    const old = new SeededBee(connect());
    await old.source.begin();
    await old.wait('a');
    await old.source.take('wait', ['a']);
    const taken = await old.source.inTransit();
    await old.redis.hdel(old.key('jobs'), 'a');
    await old.source.giveBack(taken);
    expect([await old.line(), await old.source.entries()]).toEqual([[], []]);
  });

  it('only forgets a job that was deleted, if a newer one has its id', async () => {
    const old = new SeededBee(connect());
    await old.source.begin();
    await old.wait('a');
    await old.source.take('wait', ['a']);
    const jobs = await old.source.inTransit();
    await old.redis.hdel(old.key('jobs'), 'a');
    await old.wait('a', {}, 'new');
    expect(await old.source.inTransit()).toMatchObject([{ id: 'a', fields: {} }]);
    await old.source.giveBack(jobs);
    expect([await old.ids(), await old.line(), await old.source.entries()]).toEqual([['a'], ['a'], []]);
  });
});
