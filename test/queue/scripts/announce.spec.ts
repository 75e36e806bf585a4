import { describe, expect, it } from '@jest/globals';
import { expectUnchanged, testQueue } from '../../support/queue-state.js';

describe('announce.lua', () => {
  it('I5: tells that a worker serves the queue, by the time of the server', async () => {
    const q = testQueue();
    const before = await q.now();
    await q.run(q.scripts.announce('w1', true));
    const seen = Number(await q.redis.zscore(q.keys.workers, 'w1'));
    expect(seen).toBeGreaterThanOrEqual(before);
    expect(seen).toBeLessThanOrEqual(await q.now());
    await q.run(q.scripts.announce('w2', true));
    expect((await q.run(q.scripts.stats())).workers).toBe(2);
  });

  it('tells that it has stopped; repeated it changes nothing', async () => {
    const q = testQueue();
    await q.run(q.scripts.announce('w1', true));
    await q.run(q.scripts.announce('w1', false));
    expect(await q.redis.exists(q.keys.workers)).toBe(0);
    await expectUnchanged(q, () => q.run(q.scripts.announce('w1', false)));
  });
});
