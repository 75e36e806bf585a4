import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue } from '../../support/queue/queue-state.js';

it('keeps the record of the last look, also repeated', async () => {
  const q = testQueue();
  const { takeTurn, told } = q.scripts.alerts;
  await q.run(takeTurn({ token: 'a', everyMs: 0 }));
  expect(await q.run(told({ token: 'a', record: 'one' }))).toBe(true);
  expect(await expectUnchanged(q, () => q.run(told({ token: 'a', record: 'one' })))).toBe(true);
  expect(await q.redis.hget(q.keys.alerts, 'record')).toBe('one');
});

it('refuses a look that another one has followed', async () => {
  const q = testQueue();
  const { takeTurn, told } = q.scripts.alerts;
  await q.run(takeTurn({ token: 'a', everyMs: 0 }));
  await q.run(takeTurn({ token: 'b', everyMs: 0 }));
  expect(await expectUnchanged(q, () => q.run(told({ token: 'a', record: 'late' })))).toBe(false);
});
