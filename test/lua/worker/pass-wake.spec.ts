import { expect, it } from '@jest/globals';
import { testQueue, queueWith } from '../../support/queue/queue-state.js';

it('wakes another worker where jobs wait', async () => {
  const q = await queueWith('a');
  await q.takeWake();
  await q.run(q.scripts.workers.passWake({ worker: 'full' }));
  expect(await q.takeWake()).toBe(true);
});

it('does nothing where no worker waits', async () => {
  const q = testQueue();
  await q.run(q.scripts.workers.passWake({ worker: 'full' }));
  expect(await q.takeWake()).toBe(false);
});

it('takes the worker out of the waiters, and leaves the others', async () => {
  const q = testQueue();
  await q.redis.zadd(q.keys.waiters, 1, 'full', 2, 'free');
  await q.run(q.scripts.workers.passWake({ worker: 'full' }));
  expect(await q.redis.zrange(q.keys.waiters, 0, '-1')).toEqual(['free']);
});

it('repeated it wakes one more worker, and changes nothing else', async () => {
  const q = await queueWith('a');
  await q.run(q.scripts.workers.passWake({ worker: 'full' }));
  await q.run(q.scripts.workers.passWake({ worker: 'full' }));
  expect((await q.claim(1)).map((job) => job.id)).toEqual(['a']);
});
