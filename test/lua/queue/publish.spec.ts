import { expect, it } from '@jest/globals';
import { connect } from '../../support/redis/redis.js';
import { expectUnchanged, testQueue } from '../../support/queue/queue-state.js';

it('publishes the event of a worker, also of a removed job, and writes nothing', async () => {
  const q = testQueue();
  const subscriber = connect();
  await subscriber.subscribe(q.keys.events);
  const heard = new Promise<string>((resolve) => {
    subscriber.once('message', (_channel: string, message: string) => resolve(message));
  });
  const told = await expectUnchanged(q, () =>
    q.run(q.scripts.publish({ id: 'gone', name: 'mail', status: 'lost' })),
  );
  expect(told).toBe(true);
  expect(JSON.parse(await heard)).toEqual({ id: 'gone', name: 'mail', status: 'lost' });
  subscriber.disconnect();
});

it('publishes nothing without a subscriber', async () => {
  const q = testQueue();
  expect(await q.run(q.scripts.publish({ id: 'a', name: 'mail', status: 'stuck' }))).toBe(false);
});
