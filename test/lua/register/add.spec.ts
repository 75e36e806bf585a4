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

it('keeps the last 10,000 names, and drops the oldest for one more', async () => {
  const [a, b] = [testQueue(), testQueue()];
  const { queues } = RedisStore.of(a.redis);
  const { register } = a.scripts.keys;
  await a.redis.del(register);
  await a.redis.zadd(register, ...Array.from({ length: 9_999 }, (_, i) => [i + 1, `old-${i}`]).flat());
  const dropped = async () => (await a.redis.zrange(register, 0, '0'))[0];
  await queues.register([a.scripts], LIMIT);
  expect([await a.redis.zcard(register), await dropped()]).toEqual([10_000, 'old-0']);
  await queues.register([b.scripts], LIMIT);
  expect([await a.redis.zcard(register), await dropped()]).toEqual([10_000, 'old-1']);
  await a.redis.del(register);
});
