import { expect, it } from '@jest/globals';
import { testLimit } from './shared-limit.js';

it('leases nothing until it is resumed, and says why and who', async () => {
  const { one, limit, lease } = await testLimit();
  const { pause, get } = one.scripts.sharedLimits;
  expect(await one.run(pause({ limit, reason: 'the key is replaced', by: 'ada' }))).toBe(true);
  expect(await one.run(pause({ limit, reason: 'still' }))).toBe(false);
  const state = await one.run(get({ limit }));
  expect(state).toMatchObject({ pauseReason: 'still', pausedAt: expect.any(Date) });
  expect(state).not.toHaveProperty('pausedBy');
  expect(await lease(one, 1)).toMatchObject({ granted: 0, why: 'paused', waitMs: undefined });
});

it('ends by itself', async () => {
  const { one, limit, lease, clock } = await testLimit();
  await one.run(one.scripts.sharedLimits.pause({ limit, forMs: 5_000 }));
  expect(await lease(one, 1)).toMatchObject({ why: 'paused', waitMs: 5_000 });
  clock.nowMs += 5_000;
  expect(await one.run(one.scripts.sharedLimits.get({ limit }))).not.toHaveProperty('pausedAt');
  expect(await lease(one, 1)).toMatchObject({ granted: 1 });
  expect(await one.run(one.scripts.sharedLimits.pause({ limit }))).toBe(true);
});
