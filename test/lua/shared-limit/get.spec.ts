import { expect, it } from '@jest/globals';
import { LIFE_MS, testLimit } from './shared-limit.js';

it('reads the values, who holds permits, and who waits', async () => {
  const rateLimit = { limit: 3, periodMs: 3_600_000, burst: 3 };
  const { one, two, limit, lease, clock } = await testLimit({ maxRunning: 5, rateLimit });
  await lease(one, 2, 'a', 'worker-1');
  await lease(two, 1, 'b', 'worker-2');
  await lease(two, 1, 'c', 'worker-2');
  const { get } = one.scripts.sharedLimits;
  const [first, second] = [one.scripts.keys.queue, two.scripts.keys.queue];
  expect(await one.run(get({ limit }))).toEqual({
    name: limit,
    source: 'set',
    maxRunning: 5,
    rateLimit: [rateLimit],
    running: 3,
    holders: expect.arrayContaining([
      { queue: first, worker: 'worker-1', permits: 2 },
      { queue: second, worker: 'worker-2', permits: 1 },
    ]),
    waiting: [second],
    queues: [],
    nextStartAt: expect.any(Date),
  });
  clock.nowMs += LIFE_MS;
  expect(await one.run(get({ limit }))).toMatchObject({ running: 0, holders: [], waiting: [] });
});

it('reads nothing of a limit that nobody uses', async () => {
  const { one, limit } = await testLimit();
  const state = await one.run(one.scripts.sharedLimits.get({ limit: `${limit}-new` }));
  expect(state).toEqual({
    name: `${limit}-new`,
    source: 'none',
    rateLimit: [],
    running: 0,
    holders: [],
    waiting: [],
    queues: [],
  });
});
