import { expect, it } from '@jest/globals';
import { RedisStore } from '#queue/redis-store.js';
import { testQueue } from '../../support/queue/queue-state.js';

const LIMIT = { timeoutMs: 5_000 };

it('adds several names in one call', async () => {
  const [a, b] = [testQueue(), testQueue()];
  const { queues } = RedisStore.of(a.redis);
  await queues.register([a.scripts, b.scripts], LIMIT);
  const names = await queues.registered(a.scripts, 10_000, LIMIT);
  expect(names).toEqual(expect.arrayContaining([a.scripts.keys.queue, b.scripts.keys.queue]));
});

it('adds names with the time of the server, and the last added are read first', async () => {
  const [a, b] = [testQueue(), testQueue()];
  const { queues } = RedisStore.of(a.redis);
  const { register } = a.scripts.keys;
  await queues.register([a.scripts], LIMIT);
  await a.redis.zincrby(register, -1_000, a.scripts.keys.queue);
  await queues.register([b.scripts], LIMIT);
  await queues.register([b.scripts], LIMIT);
  const names = await queues.registered(a.scripts, 10_000, LIMIT);
  const own = names.filter((name) => name === a.scripts.keys.queue || name === b.scripts.keys.queue);
  expect(own).toEqual([b.scripts.keys.queue, a.scripts.keys.queue]);
  expect(Number(await b.redis.zscore(register, b.scripts.keys.queue))).toBeLessThanOrEqual(await b.now());
});
