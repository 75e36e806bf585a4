import { expect, it } from '@jest/globals';
import { testQueue } from '../../support/queue/queue-state.js';
import { uniqueQueueName } from '../../support/redis/redis.js';

it('returns the subscriptions of one topic, or of all', async () => {
  const t = testQueue();
  const [paid, sent] = [uniqueQueueName(), uniqueQueueName()];
  const { declare, list } = t.scripts.topics;
  expect(await t.run(list({ topic: paid }))).toEqual([]);
  const subscriptions = [paid, sent].map((topic) => ({ topic, name: 'receipts', queue: 'a' }));
  await t.run(declare({ subscriptions }));
  expect(await t.run(list({ topic: paid }))).toMatchObject([{ topic: paid, name: 'receipts', queue: 'a' }]);
  expect(await t.run(list())).toEqual(
    expect.arrayContaining(subscriptions.map((each) => expect.objectContaining(each))),
  );
});

it.each(['no JSON', 'null'])('names a topic whose value is %s, and what to do', async (broken) => {
  const t = testQueue({ prefix: uniqueQueueName() }); // the register of the others stays whole
  const topic = uniqueQueueName();
  await t.redis.hset(t.scripts.keys.topics, topic, broken);
  await expect(t.run(t.scripts.topics.list({ topic }))).rejects.toThrow(
    `topic "${topic}" as JSON (restart its apps`,
  );
});

it.each(['0', '65', 'many', '1e9'])(
  'refuses %s shards, because a publication makes their names',
  async (shards) => {
    const t = testQueue({ prefix: uniqueQueueName() });
    const topic = uniqueQueueName();
    await t.redis.hset(t.scripts.keys.topics, topic, JSON.stringify({ stock: { queue: 'a', since: '1', shards } }));
    await expect(t.run(t.scripts.topics.list({ topic }))).rejects.toThrow(
      /expected (1 to 64 shards|a whole number)/,
    );
  },
);
