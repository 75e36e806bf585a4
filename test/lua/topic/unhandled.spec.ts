import { expect, it } from '@jest/globals';
import { testQueue } from '../../support/queue/queue-state.js';

const limits = { maxAttempts: 1, maxCrashes: 1 };

it('returns the names that no live worker has announced', async () => {
  const t = testQueue();
  const { workers, topics, keys } = t.scripts;
  const handlers = ['order.paid/a', 'order.paid/b'].map((name) => ({ name, ...limits }));
  await t.run(workers.register({ worker: 'worker-1', serves: true, handlers }));
  const names = ['order.paid/a', 'order.paid/b', 'order.paid/c'];
  expect(await t.run(topics.unhandled({ names }))).toEqual(['order.paid/c']);
  await t.redis.zincrby(keys.names, -40_000, 'order.paid/b');
  expect(await t.run(topics.unhandled({ names }))).toEqual(['order.paid/b', 'order.paid/c']);
});

it('takes no handler of every name for that of a subscription', async () => {
  const t = testQueue();
  const { workers, topics } = t.scripts;
  await t.run(workers.register({ worker: 'worker-1', serves: true, handlers: [{ name: '*', ...limits }] }));
  expect(await t.run(topics.unhandled({ names: ['order.paid/a'] }))).toEqual(['order.paid/a']);
});
