import { expect, it } from '@jest/globals';
import { testLimit } from './shared-limit.js';

it('clears the values and a rest', async () => {
  const { one, limit, lease } = await testLimit({ maxRunning: 1 });
  const { clear, get, rest } = one.scripts.sharedLimits;
  await one.run(rest({ limit, ms: 60_000 }));
  await one.run(clear({ limit }));
  expect(await one.run(get({ limit }))).toMatchObject({ source: 'none', rateLimit: [] });
  expect(await lease(one, 7)).toMatchObject({ granted: 7 });
});
