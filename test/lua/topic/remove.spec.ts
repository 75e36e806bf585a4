import { expect, it } from '@jest/globals';
import { testQueue } from '../../support/queue/queue-state.js';
import { uniqueQueueName } from '../../support/redis/redis.js';

it('ends one subscription, and leaves no topic without any', async () => {
  const t = testQueue();
  const topic = uniqueQueueName();
  const { declare, list, remove } = t.scripts.topics;
  await t.run(declare({ subscriptions: ['a', 'b'].map((name) => ({ topic, name, queue: name })) }));
  expect(await t.run(remove({ topic, name: 'c' }))).toBe(false);
  expect(await t.run(remove({ topic, name: 'a' }))).toBe(true);
  expect(await t.run(remove({ topic, name: 'a' }))).toBe(false);
  expect(await t.run(list({ topic }))).toMatchObject([{ name: 'b' }]);
  await t.run(remove({ topic, name: 'b' }));
  expect(await t.redis.hexists(t.scripts.keys.topics, topic)).toBe(0);
});
