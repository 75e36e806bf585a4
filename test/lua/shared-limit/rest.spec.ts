import { expect, it } from '@jest/globals';
import { testLimit } from './shared-limit.js';

it('leases nothing for the time, for all queues; a rest that ends later stays', async () => {
  const { one, two, limit, lease, clock } = await testLimit({ maxRunning: 5 });
  const { rest } = one.scripts.sharedLimits;
  await one.run(rest({ limit, ms: 60_000 }));
  await two.run(two.scripts.sharedLimits.rest({ limit, ms: 1_000 }));
  expect(await lease(one, 1)).toMatchObject({ granted: 0, why: 'rests', waitMs: 60_000 });
  clock.nowMs += 60_000;
  expect(await lease(two, 1)).toMatchObject({ granted: 1 });
});

it('of a clock that was ahead lasts no longer than asked for', async () => {
  const { one, limit, lease, clock } = await testLimit();
  clock.nowMs += 86_400_000;
  await one.run(one.scripts.sharedLimits.rest({ limit, ms: 1_000 }));
  clock.nowMs -= 86_400_000;
  expect((await lease(one, 1)).waitMs).toBe(1_000);
});
