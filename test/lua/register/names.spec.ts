import { expect, it } from '@jest/globals';
import { RedisStore } from '#queue/redis-store.js';
import { testQueue } from '../../support/queue/queue-state.js';

it('returns no more names than asked for', async () => {
  const [a, b] = [testQueue(), testQueue()];
  const { queues } = RedisStore.of(a.redis);
  await queues.register([a.scripts, b.scripts], { timeoutMs: 5_000 });
  expect(await queues.registered(a.scripts, 1, { timeoutMs: 5_000 })).toHaveLength(1);
});
