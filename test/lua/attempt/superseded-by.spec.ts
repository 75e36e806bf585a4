import { expect, it } from '@jest/globals';
import { expectUnchanged, queueWith } from '../../support/queue/queue-state.js';

it('names the newer job of each, and nothing for another cancel or a broken hash', async () => {
  const q = await queueWith('stopped', 'cancelled');
  await q.redis.hset(q.keys.job('stopped'), 'superseded_by', 'newer');
  await q.redis.set(q.keys.job('broken'), 'text');
  q.broken = true;
  const ids = ['stopped', 'cancelled', 'gone', 'broken'];
  const read = () => q.run(q.scripts.supersededBy(ids));
  expect(await expectUnchanged(q, read)).toEqual(['newer', '', '', '']);
});
