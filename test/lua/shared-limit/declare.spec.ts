import { expect, it } from '@jest/globals';
import { testLimit } from './shared-limit.js';

it('stores the values of an app, of which the last ones win, and keeps what was set at run time', async () => {
  const { one, limit } = await testLimit({ maxRunning: 1 });
  const { declare, get, clear } = one.scripts.sharedLimits;
  const values = { maxRunning: 3, rateLimit: { limit: 5, periodMs: 1_000 } };
  expect(await one.run(declare({ limit, values }))).toBe(true);
  expect(await one.run(declare({ limit, values }))).toBe(false);
  expect(await one.run(get({ limit }))).toMatchObject({
    source: 'set',
    maxRunning: 1,
    configured: { maxRunning: 3, rateLimit: [{ limit: 5, periodMs: 1_000, burst: 1 }] },
  });
  await one.run(clear({ limit }));
  expect(await one.run(get({ limit }))).toMatchObject({ source: 'configuration', maxRunning: 3 });
  await one.run(declare({ limit, values: { maxRunning: 4 } }));
  expect(await one.run(get({ limit }))).toMatchObject({ source: 'configuration', maxRunning: 4, rateLimit: [] });
});

it('notes the queues that use it, also those of apps without values, for 30 days', async () => {
  const { one, two, limit, clock } = await testLimit({ maxRunning: 1 });
  const { declare } = two.scripts.sharedLimits;
  const read = () => one.run(one.scripts.sharedLimits.get({ limit }));
  expect(await two.run(declare({ limit, values: {} }))).toBe(false);
  expect(await read()).toMatchObject({ queues: [two.scripts.keys.queue], maxRunning: 1 });
  expect(await read()).not.toHaveProperty('configured');
  clock.nowMs += 30 * 86_400_000;
  expect((await read()).queues).toEqual([two.scripts.keys.queue]);
  clock.nowMs += 1;
  expect((await read()).queues).toEqual([]);
  await one.run(one.scripts.sharedLimits.declare({ limit, values: {} }));
  clock.nowMs -= 2;
  expect((await read()).queues).toEqual([one.scripts.keys.queue]); // the other one was dropped
});
