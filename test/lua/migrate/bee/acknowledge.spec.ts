import { describe, expect, it } from '@jest/globals';
import { SeededBee } from '../../../support/bullmq/seed-bee.js';
import { connect } from '../../../support/redis/redis.js';

describe('migrate/bee/acknowledge.lua', () => {
  it('deletes the job and its entry, and does nothing when it is repeated', async () => {
    const old = new SeededBee(connect());
    await old.source.begin();
    for (const id of ['a', 'b']) await old.wait(id);
    await old.source.take('wait', ['a']);
    const taken = await old.source.inTransit();
    await old.source.acknowledge(taken);
    expect([await old.ids(), await old.line(), await old.source.entries()]).toEqual([['b'], ['b'], []]);
    await old.wait('a');
    await old.source.acknowledge(taken);
    expect(await old.ids()).toEqual(['a', 'b']);
  });

  it('leaves a job with the same id that was taken later', async () => {
    const old = new SeededBee(connect());
    await old.source.begin();
    await old.wait('a');
    await old.source.take('wait', ['a']);
    const first = await old.source.inTransit();
    await old.source.giveBack(first);
    await old.source.take('wait', ['a']);
    await old.source.acknowledge(first);
    expect([await old.ids(), (await old.source.inTransit()).length]).toEqual([['a'], 1]);
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
    await old.source.acknowledge(jobs);
    expect([await old.ids(), await old.line(), await old.source.entries()]).toEqual([['a'], ['a'], []]);
  });
});
