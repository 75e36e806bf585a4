import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, queueWith } from '../../support/queue/queue-state.js';
import { foreignFailure } from './foreign-failure.js';

it('takes a failure of a client of the pattern into dead, without a TTL, and nothing else', async () => {
  const q = await queueWith('waits');
  for (const id of ['a', 'b']) {
    await foreignFailure(q, id);
  }
  const call = q.scripts.sweep.adoptFailed({ ids: ['a', 'b', 'waits', 'gone'] });
  expect(await q.run(call)).toBe(2);
  expect((await q.ranked(q.keys.dead)).toSorted()).toEqual(['a', 'b']);
  expect(await q.redis.pttl(q.keys.job('a'))).toBe(-1);
  expect(await q.job('a')).toMatchObject({ claim_token: '', last_error: 'no' });
  expect(await expectUnchanged(q, () => q.run(call))).toBe(0);
});

it('holds the cap of dead letters', async () => {
  const q = testQueue({ deadLetterCap: 1 });
  for (const id of ['a', 'b']) await q.redis.hset(q.keys.job(id), { payload: '{}', status: 'failed' });
  await q.run(q.scripts.sweep.adoptFailed({ ids: ['a', 'b'] }));
  expect(await q.redis.zcard(q.keys.dead)).toBe(1);
});
