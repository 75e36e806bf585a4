import { expect, it } from '@jest/globals';
import { spelled, testLimit } from './shared-limit.js';

it('leases again, and calls the queues that wait', async () => {
  const { one, limit, lease } = await testLimit();
  const { pause, resume } = one.scripts.sharedLimits;
  expect(await one.run(resume({ limit }))).toEqual({ wasPaused: false, queues: [] });
  await one.run(pause({ limit }));
  await lease(one, 1);
  expect(await one.run(resume({ limit }))).toEqual({ wasPaused: true, queues: [spelled(one)] });
  expect(await lease(one, 1)).toMatchObject({ granted: 1 });
});
