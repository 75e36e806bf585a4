import { expect, it } from '@jest/globals';
import { testQueue } from '../../support/queue/queue-state.js';

it('lists live workers, the latest first, with the details that they announced', async () => {
  const q = testQueue();
  const now = await q.now();
  await q.redis.zadd(q.keys.workers, now - 60_000, 'silent', now - 2_000, 'a', now - 1_000, 'b');
  await q.redis.hset(q.keys.workerDetails, 'a', `${now - 5_000} {"host":"h","pid":1,"slots":2}`);
  expect(await q.run(q.scripts.workers.list({ most: 10 }))).toEqual([
    { id: 'b', seenAt: new Date(now - 1_000) },
    { id: 'a', seenAt: new Date(now - 2_000), startedAt: new Date(now - 5_000), host: 'h', pid: 1, slots: 2 },
  ]);
  expect(await q.run(q.scripts.workers.list({ most: 1 }))).toHaveLength(1);
});

it('names the jobs whose handlers do not end', async () => {
  const q = testQueue();
  const stuck = [{ id: 'a', name: 'mail' }];
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true }));
  await q.run(
    q.scripts.workers.describe({ worker: 'w1', details: { host: 'h', pid: 1, slots: 2, stuck }, ageMs: 0 }),
  );
  expect(await q.run(q.scripts.workers.list({ most: 1 }))).toMatchObject([{ id: 'w1', stuck }]);
});

it('lists silent workers with the jobs that they hold, on request', async () => {
  const q = testQueue();
  const now = await q.now();
  await q.redis.zadd(
    q.keys.workers,
    now - 400_000,
    'gone',
    now - 40_000,
    'web-3',
    now - 50_000,
    'idle',
    now,
    'live',
  );
  await q.addAll('a', 'b', 'c', 'd');
  for (const worker of ['web-3', 'web-3', 'live', 'gone']) await q.claim(1, { worker });
  const listed = await q.run(q.scripts.workers.list({ most: 10, silentMs: 300_000 }));
  expect(listed.map(({ id, holds }) => [id, holds])).toEqual([
    ['live', undefined],
    ['web-3', 2],
    ['idle', 0],
  ]);
});
