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

it('of a time that is over counts as none for the next pause and resume', async () => {
  const { one, limit, clock } = await testLimit();
  const { pause, resume } = one.scripts.sharedLimits;
  const endPause = async () => {
    await one.run(pause({ limit, forMs: 5_000 }));
    clock.nowMs += 5_000;
  };
  await endPause();
  expect(await one.run(pause({ limit }))).toBe(true);
  await one.run(resume({ limit }));
  await endPause();
  expect(await one.run(resume({ limit }))).toMatchObject({ wasPaused: false });
});
