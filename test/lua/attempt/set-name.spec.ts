import { describe, expect, it } from '@jest/globals';
import { expectUnchanged, testQueue } from '../../support/queue/queue-state.js';

describe('attempt/set-name.lua', () => {
  it('names a claimed job that has no name; repeated it changes nothing', async () => {
    const q = testQueue();
    await q.addAll('a');
    await q.redis.hdel(q.keys.job('a'), 'name');
    const [job] = await q.claim(1);
    expect(await q.run(q.scripts.setName({ ...job!, name: 'email' }))).toBe(true);
    expect(await q.field('a', 'name')).toBe('email');
    expect(await expectUnchanged(q, () => q.run(q.scripts.setName({ ...job!, name: 'other' })))).toBe(false);
  });

  it('I2: writes nothing under a lost claim, nor to a missing job', async () => {
    const q = testQueue();
    const lost = { id: 'gone', token: 't', name: 'email' };
    expect(await expectUnchanged(q, () => q.run(q.scripts.setName(lost)))).toBe(false);
    const job = await q.addAndClaim('a');
    await q.redis.hdel(q.keys.job('a'), 'name');
    expect(await expectUnchanged(q, () => q.run(q.scripts.setName({ ...job, token: 'x', name: 'email' })))).toBe(
      false,
    );
  });
});
