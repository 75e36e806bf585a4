import { expect, it } from '@jest/globals';
import { testQueue } from '../../support/queue/queue-state.js';
import { uniqueQueueName } from '../../support/redis/redis.js';

it('adds subscriptions of several topics, and returns those that get another queue', async () => {
  const t = testQueue();
  const [paid, sent] = [uniqueQueueName(), uniqueQueueName()];
  const { declare, list } = t.scripts.topics;
  const both = [
    { topic: paid, name: 'receipts', queue: 'a' },
    { topic: paid, name: 'stock', queue: 'b' },
    { topic: sent, name: 'receipts', queue: 'a' },
  ];
  expect(await t.run(declare({ subscriptions: both }))).toEqual([]);
  const [first] = await t.run(list({ topic: paid }));
  expect(await t.run(declare({ subscriptions: both }))).toEqual([]);
  const moved = [both[0]!, { topic: paid, name: 'stock', queue: 'c' }];
  expect(await t.run(declare({ subscriptions: moved }))).toEqual([{ ...moved[1], before: 'b' }]);
  expect(await t.run(declare({ subscriptions: moved }))).toEqual([]);
  const stored = await t.run(list({ topic: paid }));
  expect(new Map(stored.map(({ name, queue }) => [name, queue]))).toEqual(
    new Map([
      ['receipts', 'a'],
      ['stock', 'c'],
    ]),
  );
  expect(stored.map(({ since }) => since)).toEqual([first!.since, first!.since]);
  expect(Math.abs(first!.since.getTime() - (await t.now()))).toBeLessThan(60_000);
});

it('begins anew where another program wrote the value of a topic', async () => {
  const t = testQueue({ prefix: uniqueQueueName() }); // the register of the others stays whole
  const { declare, list } = t.scripts.topics;
  for (const broken of ['no JSON', 'null', '{"stock":1}']) {
    const topic = uniqueQueueName();
    await t.redis.hset(t.scripts.keys.topics, topic, broken);
    expect(await t.run(declare({ subscriptions: [{ topic, name: 'stock', queue: 'b' }] }))).toEqual([]);
    expect(await t.run(list({ topic }))).toMatchObject([{ name: 'stock', queue: 'b' }]);
  }
});

it('adds those that are missing alone, if known ones keep their queues', async () => {
  const t = testQueue();
  const topic = uniqueQueueName();
  const { declare, list } = t.scripts.topics;
  await t.run(declare({ subscriptions: [{ topic, name: 'stock', queue: 'new' }] }));
  const subscriptions = ['receipts', 'stock'].map((name) => ({ topic, name, queue: 'old' }));
  expect(await t.run(declare({ keepsKnown: true, subscriptions }))).toEqual([]);
  const stored = await t.run(list({ topic }));
  expect(Object.fromEntries(stored.map(({ name, queue }) => [name, queue]))).toEqual({
    receipts: 'old',
    stock: 'new',
  });
});

it('notes the prefix of a queue, also of a subscription that an older version has declared', async () => {
  const t = testQueue();
  const topic = uniqueQueueName();
  const { declare, list } = t.scripts.topics;
  const known = { topic, name: 'stock', queue: 'a' };
  await t.run(declare({ subscriptions: [known] }));
  expect(await t.run(list({ topic }))).toEqual([{ ...known, since: expect.any(Date) }]);
  expect(await t.run(declare({ subscriptions: [{ ...known, prefix: 'billing' }] }))).toEqual([]);
  expect(await t.run(list({ topic }))).toMatchObject([{ ...known, prefix: 'billing' }]);
});

it('notes whether the queue has a hash tag, and that it changed', async () => {
  const t = testQueue();
  const topic = uniqueQueueName();
  const { declare, list } = t.scripts.topics;
  const known = { topic, name: 'stock', queue: 'a', prefix: 'p' };
  const stored = async () => (await t.run(list({ topic }))).map(({ hashTag }) => hashTag);
  expect(await t.run(declare({ subscriptions: [known] }))).toEqual([]);
  expect(await stored()).toEqual([undefined]);
  for (const hashTag of [true, false]) {
    expect(await t.run(declare({ subscriptions: [{ ...known, hashTag }] }))).toEqual([]);
    expect(await stored()).toEqual([hashTag]);
  }
});

it('notes the number of shards, and that it changed', async () => {
  const t = testQueue();
  const topic = uniqueQueueName();
  const { declare, list } = t.scripts.topics;
  const known = { topic, name: 'stock', queue: 'a', prefix: 'p' };
  for (const shards of [4, 8]) {
    expect(await t.run(declare({ subscriptions: [{ ...known, shards }] }))).toEqual([]);
    expect(await t.run(list({ topic }))).toMatchObject([{ shards }]);
  }
  expect(await t.run(declare({ subscriptions: [known] }))).toEqual([]);
  expect((await t.run(list({ topic })))[0]).not.toHaveProperty('shards');
});

it.each(['stockroom', 'instock', 'st', 'ck'])(
  'tells the queue stock, its prefix and its shards from %s',
  async (like) => {
    const t = testQueue();
    const topic = uniqueQueueName();
    const { declare, list } = t.scripts.topics;
    const known = { topic, name: 'n', queue: 'stock', prefix: 'stock', shards: 12 };
    const put = async (change: object) => {
      const moved = await t.run(declare({ subscriptions: [{ ...known, ...change }] }));
      const [stored] = await t.run(list({ topic }));
      return { moved: moved.length, queue: stored!.queue, prefix: stored!.prefix, shards: stored!.shards };
    };
    const stock = { queue: 'stock', prefix: 'stock', shards: 12 };
    await put({});
    for (const [change, moved] of [
      [{ queue: like }, 1],
      [{ prefix: like }, 0],
      [{ shards: 1 }, 0],
      [{ shards: 2 }, 0],
    ] as const) {
      // prettier-ignore
      expect(await put(change)).toEqual({ moved, ...stock, ...change });
      expect(await put({})).toEqual({ moved, ...stock });
    }
  },
);
