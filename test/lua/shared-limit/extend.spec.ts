import { expect, it } from '@jest/globals';
import { LIFE_MS, testLimit } from './shared-limit.js';

it('extends permits that are there, and brings none back', async () => {
  const { one, limit, lease, clock, running } = await testLimit({ maxRunning: 2 });
  await lease(one, 2, 't');
  const extend = (permits: string[]) =>
    one.run(one.scripts.sharedLimits.extend({ limit, worker: 'worker-1', lifeMs: LIFE_MS, permits }));
  clock.nowMs += LIFE_MS / 2;
  await extend(['t\t1']);
  clock.nowMs += LIFE_MS / 2;
  expect(await running()).toBe(1);
  await lease(one, 1); // removes the other
  await extend(['t\t1', 't\t2']);
  expect(await running()).toBe(2); // t 1, and that of the lease
});
