import { expect, it } from '@jest/globals';
import { testLimit } from './shared-limit.js';

it('returns the values that apply to each key, and for how long none may start', async () => {
  const { one, limit, clock } = await testLimit({
    maxRunning: 2,
    rateLimit: { limit: 5, periodMs: 1_000, burst: 3 },
  });
  const note = (...used: string[]) => one.run(one.scripts.sharedLimits.noteKeys({ limit, used }));
  expect(await note('acme')).toEqual({
    values: { maxRunning: 2, rateLimit: [{ limit: 5, periodMs: 1_000, burst: 3 }] },
    heldMs: undefined,
  });
  await one.run(one.scripts.sharedLimits.rest({ limit, ms: 500 }));
  expect(await note()).toMatchObject({ heldMs: 500 });
  await one.run(one.scripts.sharedLimits.pause({ limit, forMs: 900 }));
  expect(await note()).toMatchObject({ heldMs: 900 });
  clock.nowMs += 900;
  expect(await note()).toMatchObject({ heldMs: undefined });
  await one.run(one.scripts.sharedLimits.pause({ limit }));
  expect(await note()).toMatchObject({ heldMs: Infinity });
});

it('says that no app has declared values', async () => {
  const { one } = await testLimit();
  expect(await one.run(one.scripts.sharedLimits.noteKeys({ limit: 'nobody-s', used: [] }))).toEqual({
    values: undefined,
    heldMs: undefined,
  });
});

it('lists the keys that were used last, for a day', async () => {
  const { one, limit, clock } = await testLimit({ maxRunning: 2 });
  const note = (...used: string[]) => one.run(one.scripts.sharedLimits.noteKeys({ limit, used }));
  const keys = async () => (await one.run(one.scripts.sharedLimits.get({ limit }))).keys;
  expect(await keys()).toBeUndefined();
  await note('acme', 'bolt');
  clock.nowMs += 3_600_000;
  await note('acme');
  expect(await keys()).toEqual(['acme', 'bolt']);
  clock.nowMs += 23 * 3_600_000;
  await note('cog');
  expect(await keys()).toEqual(['cog', 'acme']);
  await note(...Array.from({ length: 10_000 }, (_, i) => `k${i}`));
  expect(await one.redis.zcard(`queue:limit:{${limit}}:keys`)).toBe(10_000);
});

it('counts the keys without a permit, those that are paused or rest apart, until their groups have rested', async () => {
  const { one, limit, clock } = await testLimit({ maxRunning: 2 });
  const waitingKeys = async () => (await one.run(one.scripts.sharedLimits.get({ limit }))).waitingKeys;
  const refuse = (key: string, isClosed: boolean, forMs: number) =>
    one.run(one.scripts.sharedLimits.noteKeys({ limit, used: [key], refused: [{ key, isClosed, forMs }] }));
  expect(await waitingKeys()).toBeUndefined();
  await refuse('acme', false, 5_000);
  await refuse('bolt', false, 90_000);
  await refuse('cog', true, 5_000);
  expect(await waitingKeys()).toEqual({ full: 2, closed: 1 });
  await refuse('acme', true, 1_000);
  expect(await waitingKeys()).toEqual({ full: 1, closed: 2 });
  clock.nowMs += 1_000;
  expect(await waitingKeys()).toEqual({ full: 1, closed: 1 });
  clock.nowMs += 29_000;
  expect(await waitingKeys()).toEqual({ full: 0, closed: 0 });
  await refuse('acme', false, 10);
  expect(await one.redis.zcard(`queue:limit:{${limit}}:full`)).toBe(1);
  expect(await one.redis.pttl(`queue:limit:{${limit}}:full`)).toBeGreaterThan(25_000);
});

it('keeps ten thousand keys without a permit, those that rest longest', async () => {
  const { one, limit } = await testLimit({ maxRunning: 2 });
  const refused = Array.from({ length: 10_100 }, (_, i) => ({ key: `k${i}`, isClosed: false, forMs: i + 1 }));
  await one.run(one.scripts.sharedLimits.noteKeys({ limit, used: [], refused }));
  expect(await one.redis.zcard(`queue:limit:{${limit}}:full`)).toBe(10_000);
  expect(await one.redis.zscore(`queue:limit:{${limit}}:full`, 'k99')).toBeNull();
});
