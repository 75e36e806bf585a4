import { expect, it } from '@jest/globals';
import { MOST_RATES } from '#queue/validation/key-table.js';
import { spelled, testLimit } from './shared-limit.js';

const rateOf = (burst: number) => ({ limit: 100, periodMs: 1_000, burst });

it('sets the values, ends no running job, and calls the queues that wait', async () => {
  const { one, two, limit, lease, running } = await testLimit({ maxRunning: 2 });
  await lease(one, 2);
  await lease(two, 1);
  const { set } = one.scripts.sharedLimits;
  expect(await one.run(set({ limit, values: { maxRunning: 1 } }))).toEqual([spelled(two)]);
  expect(await running()).toBe(2);
  await one.run(set({ limit, values: { maxRunning: 3 } }));
  expect(await lease(two, 1)).toMatchObject({ granted: 1 });
});

it('changes one value and keeps the others, and the spent rate', async () => {
  const { one, limit, lease } = await testLimit({ maxRunning: 9, rateLimit: { limit: 1, periodMs: 3_600_000 } });
  await lease(one, 1);
  const { set, get } = one.scripts.sharedLimits;
  await one.run(set({ limit, values: { maxRunning: null } }));
  const state = await one.run(get({ limit }));
  expect(state.rateLimit).toEqual([{ limit: 1, periodMs: 3_600_000, burst: 1 }]);
  expect(state.maxRunning).toBeUndefined();
  expect(await lease(one, 1)).toMatchObject({ granted: 0, why: 'rate' });
  await one.run(set({ limit, values: { rateLimit: null } }));
  expect(await lease(one, 1)).toMatchObject({ granted: 1 });
});

it('keeps as many rates as a limit may have, and reads no further one', async () => {
  const rates = Array.from({ length: MOST_RATES }, (_, i) => rateOf(i + 1));
  const { one, limit } = await testLimit({ rateLimit: rates });
  const { set, get } = one.scripts.sharedLimits;
  expect((await one.run(get({ limit }))).rateLimit).toEqual(rates);
  await one.run(set({ limit, values: { rateLimit: [...rates, rateOf(99)] } }));
  expect((await one.run(get({ limit }))).rateLimit).toEqual(rates);
  await one.run(set({ limit, values: { rateLimit: null } }));
  const ratePrefix = one.scripts.keys.sharedLimit(limit).at(-1)!;
  expect(await one.redis.exists(`${ratePrefix}${MOST_RATES}`)).toBe(0);
});
