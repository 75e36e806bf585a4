import { expect, it } from '@jest/globals';
import { testQueue } from '../../support/queue/queue-state.js';

it('returns the limits of a handler as workers announced them, else those of the handler of every name', async () => {
  const q = testQueue();
  const attempts = async (name: string) => (await q.run(q.scripts.workers.handlerLimits({ name })))?.maxAttempts;
  expect(await attempts('mail')).toBeUndefined();
  await q.run(
    q.scripts.workers.register({
      worker: 'w1',
      serves: true,
      handlers: [{ name: 'mail', maxAttempts: 5, maxCrashes: 3 }],
    }),
  );
  expect([await attempts('mail'), await attempts('print')]).toEqual([5, undefined]);
  await q.run(
    q.scripts.workers.register({
      worker: 'w2',
      serves: true,
      handlers: [{ name: '*', maxAttempts: 2, maxCrashes: 3 }],
    }),
  );
  expect([await attempts('mail'), await attempts('print')]).toEqual([5, 2]);
});

it('returns none of a text that another program wrote', async () => {
  const q = testQueue();
  await q.redis.hset(q.keys.handlerLimits, 'mail', 'often');
  expect(await q.run(q.scripts.workers.handlerLimits({ name: 'mail' }))).toBeUndefined();
});
