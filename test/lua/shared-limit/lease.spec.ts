import { describe, expect, it } from '@jest/globals';
import { queueOn } from '../../support/queue/queue-state.js';
import { LIFE_MS, spelled, testLimit } from './shared-limit.js';

/** Returns the last arguments of a lease whose jobs have costs of their own. */
const varying = (cost: number, least: number) => [undefined, undefined, cost, least] as const;

describe('the permits of a limit', () => {
  it('are as many as maxRunning, over all queues', async () => {
    const { one, two, lease, running } = await testLimit({ maxRunning: 5 });
    expect(await lease(one, 3)).toMatchObject({ granted: 3, why: '', waitMs: undefined });
    expect(await lease(two, 3)).toMatchObject({ granted: 2, why: 'slots' });
    expect(await lease(one, 1)).toMatchObject({ granted: 0, why: 'slots' });
    expect(await running()).toBe(5);
  });

  it('are without a bound where the limit has no values', async () => {
    const { one, lease } = await testLimit();
    expect(await lease(one, 500)).toMatchObject({ granted: 500, why: '' });
  });

  it('end by the time of the server, so a killed worker loses none', async () => {
    const { one, two, lease, clock } = await testLimit({ maxRunning: 2 });
    await lease(one, 2);
    clock.nowMs += LIFE_MS - 1;
    expect(await lease(two, 2)).toMatchObject({ granted: 0 });
    clock.nowMs += 1;
    expect(await lease(two, 2)).toMatchObject({ granted: 2 });
  });

  it('of a clock that was ahead end no later than those of now', async () => {
    const { one, two, lease, clock } = await testLimit({ maxRunning: 1 });
    clock.nowMs += 86_400_000;
    await lease(one, 1);
    clock.nowMs -= 86_400_000;
    expect(await lease(two, 1)).toMatchObject({ granted: 0 });
    clock.nowMs += LIFE_MS;
    expect(await lease(two, 1)).toMatchObject({ granted: 1 });
  });

  it('are the same where the lease is repeated, and are charged once', async () => {
    const { one, lease, running } = await testLimit({
      maxRunning: 5,
      rateLimit: { limit: 3, periodMs: 60_000, burst: 3 },
    });
    expect(await lease(one, 2, 'same')).toMatchObject({ granted: 2 });
    expect(await lease(one, 2, 'same')).toMatchObject({ granted: 2, why: '' });
    expect(await running()).toBe(2);
    expect(await lease(one, 2)).toMatchObject({ granted: 1, why: 'rate' });
  });
});

it('gives no queue the turn of one whose name begins with its own', async () => {
  const { one, lease, giveBack } = await testLimit({ maxRunning: 1 });
  const longer = queueOn(one.redis, {}, `${one.name}-2`);
  await lease(one, 1, 't');
  expect(await lease(longer, 1)).toMatchObject({ granted: 0 });
  await giveBack(one, ['t\t1']);
  expect(await lease(one, 1)).toMatchObject({ granted: 0 });
  expect(await lease(longer, 1)).toMatchObject({ granted: 1 });
});

describe('the rates of a limit', () => {
  it('say the smallest burst that is below the cost of a job', async () => {
    const { one, lease } = await testLimit({
      rateLimit: [
        { limit: 60, periodMs: 60_000, burst: 2 },
        { limit: 60, periodMs: 60_000, burst: 3 },
        { limit: 60, periodMs: 60_000, burst: 9 },
      ],
    });
    expect(await lease(one, 1, 'a', 'worker-1', 5)).toMatchObject({ granted: 1, burst: 2 });
    expect(await lease(one, 1, 'b', 'worker-1', 5)).toMatchObject({ granted: 0, burst: 2 });
    expect(await lease(one, 1, 'c', 'worker-1', 2)).not.toHaveProperty('burst');
  });

  it('hold all, and say when the next job may start', async () => {
    const { one, lease, clock } = await testLimit({
      rateLimit: [
        { limit: 60, periodMs: 60_000, burst: 2 },
        { limit: 10, periodMs: 60_000, burst: 10 },
      ],
    });
    expect(await lease(one, 5)).toMatchObject({ granted: 2 });
    const next = await lease(one, 5);
    expect(next).toMatchObject({ granted: 0, why: 'rate', waitMs: 1_000 });
    clock.nowMs += 1_000;
    expect(await lease(one, 5)).toMatchObject({ granted: 1 });
  });

  it('admit at most limit + burst in a period, and all of the limit under load', async () => {
    const { one, two, lease, clock } = await testLimit({ rateLimit: { limit: 50, periodMs: 1_000, burst: 5 } });
    const starts: number[] = [];
    for (let i = 0; i < 400; i++) {
      const { granted } = await lease(i % 2 ? one : two, 10);
      starts.push(...Array.from({ length: granted }, () => clock.nowMs));
      clock.nowMs += 10;
    }
    const inPeriod = starts.map((at) => starts.filter((other) => other >= at && other < at + 1_000).length);
    expect(Math.max(...inPeriod)).toBeLessThanOrEqual(55);
    expect(starts.length).toBeGreaterThanOrEqual(0.9 * 200);
  });

  it('let one worker of a queue keep the time, and the others wait for a wake', async () => {
    const { one, two, lease } = await testLimit({ rateLimit: { limit: 1, periodMs: 60_000 } });
    await lease(one, 1);
    expect((await lease(one, 1, 'a', 'worker-1')).waitMs).toBeGreaterThan(59_000);
    expect((await lease(one, 1, 'b', 'worker-2')).waitMs).toBeUndefined();
    expect((await lease(two, 1, 'c', 'worker-2')).waitMs).toBeGreaterThan(119_000); // it is second in line
  });
});

describe('queues that wait', () => {
  it('take turns: each gets an equal part of what is left', async () => {
    const { one, two, lease, giveBack } = await testLimit({ maxRunning: 4 });
    await lease(one, 4, 't');
    await lease(two, 4); // waits
    await lease(one, 4); // waits behind it
    expect(await giveBack(one, ['t\t1', 't\t2', 't\t3', 't\t4'])).toEqual([spelled(two), spelled(one)]);
    expect(await lease(one, 4)).toMatchObject({ granted: 2, why: 'turn' });
    expect(await lease(two, 4)).toMatchObject({ granted: 1, why: 'turn' });
  });

  it('take turns: the first in line comes first', async () => {
    const { one, two, lease, giveBack } = await testLimit({ maxRunning: 1 });
    await lease(one, 1, 't');
    await lease(two, 1, 'u'); // waits
    await giveBack(one, ['t\t1']);
    expect(await lease(one, 1)).toMatchObject({ granted: 0, why: 'turn' });
    expect(await lease(two, 1, 'u')).toMatchObject({ granted: 1 });
    await giveBack(two, ['u\t1']);
    expect(await lease(two, 1)).toMatchObject({ granted: 0, why: 'turn' });
    expect(await lease(one, 1)).toMatchObject({ granted: 1 });
  });

  it('keep their places behind the first hundred', async () => {
    const { one, two, limit, lease } = await testLimit({ maxRunning: 1 });
    await lease(one, 1);
    await lease(two, 1);
    const [, , waiting, seen] = one.scripts.keys.sharedLimit(limit);
    const before = await one.redis.zscore(waiting!, spelled(two));
    const others = Array.from({ length: 100 }, (_, i) => `other-${i}`);
    await one.redis.zadd(waiting!, ...others.flatMap((name) => [0, name]));
    await one.redis.zadd(seen!, ...others.flatMap((name) => [4e12, name]));
    await lease(two, 1);
    expect(await one.redis.zscore(waiting!, spelled(two))).toBe(before);
  });

  it('keep their places when they ask while those ahead of them do not come', async () => {
    const { one, two, limit, lease, clock } = await testLimit({ maxRunning: 8 });
    const [, , waiting, seen] = one.scripts.keys.sharedLimit(limit);
    const line = ['a', 'b', 'c', 'd', spelled(two), 'e'];
    await one.redis.zadd(waiting!, ...line.flatMap((name, i) => [i, name]));
    await one.redis.zadd(seen!, ...line.flatMap((name) => [4e12, name]));
    expect(await lease(two, 1)).toMatchObject({ granted: 0, why: 'turn', toWake: ['a', 'b', 'c', 'd', 'e'] });
    clock.nowMs += 100;
    expect((await one.run(one.scripts.sharedLimits.get({ limit }))).waiting).toContain(spelled(two));
  });

  it('are passed over where they do not come', async () => {
    const { one, two, lease, giveBack, clock } = await testLimit({ maxRunning: 1 });
    await lease(one, 1, 't');
    await lease(two, 1); // waits, and does not come again
    await giveBack(one, ['t\t1']);
    expect(await lease(one, 1)).toMatchObject({ granted: 0, why: 'turn', waitMs: 100, toWake: [spelled(two)] });
    clock.nowMs += 101;
    expect(await lease(one, 1)).toMatchObject({ granted: 1, why: '' });
  });
});

it('a limit without values asks an app that has some for them', async () => {
  const { one, limit } = await testLimit();
  const asked = { worker: 'w', token: 't', count: 1, lifeMs: LIFE_MS, declares: true };
  const lease = one.scripts.sharedLimits.lease({ ...asked, limit: `${limit}-new` });
  expect(await one.run(lease)).toMatchObject({ granted: 0, why: 'undeclared' });
});

/** Returns the last arguments of a lease, for jobs that cost this much. */
const costs = (amount: number) => [undefined, undefined, amount] as const;

describe('a queue whose jobs cost more', () => {
  const values = { rateLimit: { limit: 60, periodMs: 60_000, burst: 6 } };

  it('is charged its cost for each job, and waits until all of it may start', async () => {
    const { one, lease, clock } = await testLimit(values);
    expect(await lease(one, 5, ...costs(3))).toMatchObject({ granted: 2, why: 'rate' });
    expect(await lease(one, 5, ...costs(3))).toMatchObject({ granted: 0, why: 'rate', waitMs: 3_000 });
    clock.nowMs += 2_000;
    expect(await lease(one, 1, ...costs(3))).toMatchObject({ granted: 0, waitMs: 1_000 });
    clock.nowMs += 1_000;
    expect(await lease(one, 1, ...costs(3))).toMatchObject({ granted: 1 });
  });

  it('costs at most the burst, and nothing of maxRunning', async () => {
    const { one, lease } = await testLimit({ ...values, maxRunning: 2 });
    expect(await lease(one, 2, ...costs(100))).toMatchObject({ granted: 1 });
    expect(await lease(one, 1)).toMatchObject({ granted: 0, why: 'rate' });
  });

  it('is not starved by a queue whose jobs cost less', async () => {
    const { one, two, lease, clock } = await testLimit(values);
    await lease(two, 6);
    expect(await lease(one, 1, ...costs(3))).toMatchObject({ granted: 0 });
    const granted = { one: 0, two: 0 };
    for (let seconds = 0; seconds < 24; seconds++) {
      clock.nowMs += 1_000;
      granted.two += (await lease(two, 1)).granted;
      granted.one += (await lease(one, 1, ...costs(3))).granted;
    }
    expect(granted.one).toBeGreaterThanOrEqual(5);
    expect(granted.two).toBeGreaterThanOrEqual(5);
    expect(3 * granted.one + granted.two).toBeLessThanOrEqual(25);
  });

  it('lets cheaper ones wait for the rate, and is called only when its own cost is there', async () => {
    const { one, two, lease, clock } = await testLimit(values);
    await lease(two, 6);
    await lease(one, 1, ...costs(3));
    clock.nowMs += 1_000;
    expect(await lease(two, 1)).toMatchObject({ granted: 0, why: 'rate', waitMs: 3_000, toWake: [] });
    expect(await lease(two, 1, 'other', 'worker-2')).toMatchObject({ why: 'rate', waitMs: undefined, toWake: [] });
    clock.nowMs += 1_000;
    expect(await lease(two, 5)).toMatchObject({ granted: 0, why: 'rate', waitMs: 2_000, toWake: [] });
    clock.nowMs += 400;
    await lease(one, 1, ...costs(3));
    clock.nowMs += 600;
    expect(await lease(two, 1)).toMatchObject({ granted: 0, why: 'turn', waitMs: 100, toWake: [spelled(one)] });
    expect(await lease(one, 1, ...costs(3))).toMatchObject({ granted: 1 });
  });

  it('keeps nothing from others after its cost was lowered to one', async () => {
    const { one, two, lease, clock } = await testLimit(values);
    await lease(two, 6);
    await lease(one, 1, ...costs(3));
    await lease(one, 1);
    clock.nowMs += 2_000;
    expect(await lease(two, 1)).toMatchObject({ granted: 1 });
  });

  it('costs what the rates have, if its jobs have costs of their own and nothing is known of the next', async () => {
    const { one, lease } = await testLimit(values);
    expect(await lease(one, 1, ...varying(4, 1))).toMatchObject({ granted: 1, cost: 4 });
    expect(await lease(one, 1, ...varying(4, 1))).toMatchObject({ granted: 1, cost: 2 });
    expect(await lease(one, 1, ...varying(4, 1))).toMatchObject({
      granted: 0,
      cost: 1,
      why: 'rate',
      waitMs: 1_000,
    });
  });

  it('waits for what the next job costs, also for other workers of the queue', async () => {
    const { one, lease, clock } = await testLimit(values);
    await lease(one, 1, ...varying(4, 1));
    expect(await lease(one, 1, ...varying(3, 3))).toMatchObject({ granted: 0, cost: 3, waitMs: 1_000 });
    expect(await lease(one, 1, 'a', 'worker-2', 1, 1)).toMatchObject({ granted: 0, cost: 3 });
    expect(await lease(one, 1, 'b', 'worker-2', 1, 0)).toMatchObject({ granted: 1, cost: 1 }); // it has claimed that job
    clock.nowMs += 2_000;
    expect(await lease(one, 1, ...varying(3, 3))).toMatchObject({ granted: 1, cost: 3 });
  });

  it('is told by a repeat no more than its permits have paid', async () => {
    const { one, lease } = await testLimit(values);
    await lease(one, 1, ...varying(4, 1));
    expect(await lease(one, 1, 'token', 'worker-1', 4, 1)).toMatchObject({ granted: 1, cost: 2 }); // all that is left
    expect(await lease(one, 1, 'token', 'worker-1', 4, 1)).toMatchObject({ granted: 1, cost: 1 });
  });

  it('gets its cost back for a permit that nothing used', async () => {
    const { one, lease, giveBack } = await testLimit(values);
    expect(await lease(one, 2, 'token', undefined, 3)).toMatchObject({ granted: 2 });
    await giveBack(one, ['token\t1', 'token\t2'], { isUnused: true, cost: 3 });
    expect(await lease(one, 2, ...costs(3))).toMatchObject({ granted: 2 });
  });
});
