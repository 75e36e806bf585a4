// The store of one key of a limit. The scripts are those of a limit; it has the values of the limit, and an end.
import { expect, it } from '@jest/globals';
import type { SharedLimitValues } from '#queue/model/shared-limit.js';
import type { TestQueue } from '../../support/queue/queue-state.js';
import { LIFE_MS, spelled, testLimit } from './shared-limit.js';

const DAY_MS = 86_400_000;

async function testKey() {
  const { one, two, clock, limit } = await testLimit();
  const store = `${limit}#acme {1}`;
  const lease = (queue = one, given: { count?: number; token?: string; ofLimit?: SharedLimitValues } = {}) =>
    queue.run(
      queue.scripts.sharedLimits.lease({
        limit: store,
        worker: 'w',
        token: String(Math.random()),
        count: 1,
        lifeMs: LIFE_MS,
        declares: false,
        ofLimit: { maxRunning: 1 },
        ...given,
      }),
    );
  const get = () => one.run(one.scripts.sharedLimits.get({ limit: store }));
  const key = `queue:limit:{${store}}`;
  const livesMs = (part = '') => one.redis.pttl(key + part);
  return { one, two, clock, store, lease, get, key, livesMs };
}

it('has the values of its limit, and those that were set for it instead', async () => {
  const { one, store, lease, get } = await testKey();
  expect(await lease()).toMatchObject({ granted: 1 });
  expect(await lease()).toMatchObject({ granted: 0, why: 'slots', waitMs: 5_000 });
  expect(await lease(one, { ofLimit: { maxRunning: 2 } })).toMatchObject({ granted: 1 });
  await one.run(
    one.scripts.sharedLimits.set({ limit: store, values: { maxRunning: 4 }, ofLimit: { maxRunning: 2 } }),
  );
  expect(await lease(one, { count: 5, ofLimit: { maxRunning: 1 } })).toMatchObject({ granted: 2 });
  expect(await get()).toMatchObject({ source: 'set', maxRunning: 4, running: 4 });
});

it('keeps with a change what its limit says, also if it was never used', async () => {
  const { one, store, get } = await testKey();
  const ofLimit = { maxRunning: 9, rateLimit: { limit: 5, periodMs: 1_000, burst: 3 } };
  await one.run(one.scripts.sharedLimits.set({ limit: store, values: { maxRunning: 4 }, ofLimit }));
  expect(await get()).toMatchObject({ maxRunning: 4, rateLimit: [{ limit: 5, periodMs: 1_000, burst: 3 }] });
});

it('waits for a queue until its group has rested, and then calls it', async () => {
  const { one, two, clock, store, lease } = await testKey();
  await lease();
  expect(await lease(two)).toMatchObject({ granted: 0, why: 'slots' });
  clock.nowMs += 5_000;
  const [permit] = await one.redis.zrange(`queue:limit:{${store}}:permits`, '0', '0');
  const [, , token, number] = permit!.split('\t');
  const permits = [{ id: `${token}\t${number}`, version: '1' }];
  expect(await one.run(one.scripts.sharedLimits.giveBack({ limit: store, worker: 'w', permits }))).toEqual([
    spelled(two),
  ]);
});

it('keeps a queue in line that gives a permit back unused, because other jobs of its group rest', async () => {
  const { one, two, store, lease, get } = await testKey();
  const ofLimit = { maxRunning: 2 };
  const giveBack = (queue: TestQueue, token: string, refund?: number) => {
    const permits = [{ id: `${token}\t1`, refund, version: '1' }];
    return queue.run(queue.scripts.sharedLimits.giveBack({ limit: store, worker: 'w', permits }));
  };
  await lease(two, { token: 'runs', ofLimit });
  await lease(one, { token: 'cancelled', ofLimit });
  expect(await lease(one, { ofLimit })).toMatchObject({ granted: 0, why: 'slots' });
  await giveBack(one, 'cancelled', 1); // its job was cancelled before the reply
  expect(await get()).toMatchObject({ waiting: [one.name], running: 1 });
  expect(await giveBack(two, 'runs')).toEqual([spelled(one)]);
});

it('says to each queue when a rate lets its group start', async () => {
  const { one, two, lease } = await testKey();
  const ofLimit = { rateLimit: { limit: 1, periodMs: 10_000 } };
  expect(await lease(one, { ofLimit })).toMatchObject({ granted: 1 });
  expect(await lease(one, { ofLimit })).toMatchObject({ why: 'rate', waitMs: 10_000 });
  expect(await lease(one, { ofLimit })).toMatchObject({ why: 'rate', waitMs: 10_000 });
  expect(await lease(two, { ofLimit })).toMatchObject({ why: 'rate' });
});

it('lets a group rest for 30 s at most, so that it learns of other values', async () => {
  const { one, lease } = await testKey();
  const ofLimit = { rateLimit: { limit: 1, periodMs: 3_600_000 } };
  await lease(one, { ofLimit });
  expect(await lease(one, { ofLimit })).toMatchObject({ why: 'rate', waitMs: 30_000 });
});

it('ends by itself, but not before its permits, its rates, a rest, or what people set', async () => {
  const { one, store, lease, key, livesMs } = await testKey();
  await lease(one, { ofLimit: { rateLimit: { limit: 1, periodMs: 3_600_000 } } });
  for (const part of ['', ':permits', ':rate:1']) {
    expect(await livesMs(part)).toBeGreaterThan(3_500_000);
    expect(await livesMs(part)).toBeLessThanOrEqual(3_600_000);
  }
  await one.run(one.scripts.sharedLimits.extend({ limit: store, worker: 'w', lifeMs: 2 * DAY_MS, permits: [] }));
  expect(await livesMs(':rate:1')).toBeGreaterThan(1.9 * DAY_MS);
  await one.run(one.scripts.sharedLimits.rest({ limit: store, ms: 3 * DAY_MS }));
  expect(await livesMs()).toBeGreaterThan(2.9 * DAY_MS);
  await one.run(one.scripts.sharedLimits.pause({ limit: store }));
  expect(await livesMs()).toBeGreaterThan(29 * DAY_MS);
  await one.redis.unlink(key);
  await one.run(one.scripts.sharedLimits.clear({ limit: store }));
  expect(await livesMs()).toBeLessThanOrEqual(60_000);
  await one.run(one.scripts.sharedLimits.set({ limit: store, values: { maxRunning: 1 }, ofLimit: {} }));
  await lease();
  expect(await livesMs(':permits')).toBeGreaterThan(29 * DAY_MS);
});

it('keeps values that were set for 30 days after its last use, and then has those of its limit again', async () => {
  const { one, store, lease, key, livesMs } = await testKey();
  const rateLimit = { limit: 9, periodMs: 1_000, burst: 9 };
  await one.run(one.scripts.sharedLimits.set({ limit: store, values: { maxRunning: 3, rateLimit }, ofLimit: {} }));
  const parts = ['', ':permits', ':rate:1'];
  for (let day = 0; day < 3; day++) {
    await lease();
    for (const part of parts) {
      expect(await livesMs(part)).toBeGreaterThan(30 * DAY_MS - 10_000);
      expect(await livesMs(part)).toBeLessThanOrEqual(30 * DAY_MS);
      await one.redis.pexpire(key + part, DAY_MS); // 29 days later
    }
  }
  expect(await lease()).toMatchObject({ granted: 0, why: 'slots' }); // the fourth
  await Promise.all([...parts, ':waiting', ':seen'].map((part) => one.redis.pexpire(key + part, 0)));
  expect(await lease()).toMatchObject({ granted: 1 });
  expect(await lease()).toMatchObject({ granted: 0, why: 'slots' }); // one may run, as the limit says
  expect(await livesMs()).toBeLessThanOrEqual(LIFE_MS);
});

it('a limit itself has no end', async () => {
  const { one, limit, lease } = await testLimit({ maxRunning: 1 });
  await lease(one, 1);
  expect(await one.redis.pttl(`queue:limit:{${limit}}`)).toBe(-1);
});
