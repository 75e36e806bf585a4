import { expect, it } from '@jest/globals';
import { spelled, testLimit } from './shared-limit.js';

it('gives permits back once, and calls the queues that wait', async () => {
  const { one, two, lease, giveBack, running } = await testLimit({ maxRunning: 2 });
  await lease(one, 2, 't');
  await lease(two, 1);
  expect(await giveBack(one, ['t\t1'])).toEqual([spelled(two)]);
  expect(await giveBack(one, ['t\t1'])).toEqual([]);
  expect(await running()).toBe(1);
});

it('refunds what never started, unless the values have changed since', async () => {
  const { one, limit, lease, giveBack } = await testLimit({ rateLimit: { limit: 1, periodMs: 3_600_000 } });
  await lease(one, 1, 't');
  await giveBack(one, ['t\t1'], { isUnused: true });
  expect(await lease(one, 1, 'u')).toMatchObject({ granted: 1 });
  await one.run(one.scripts.sharedLimits.set({ limit, values: { maxRunning: 5 } }));
  await giveBack(one, ['u\t1'], { isUnused: true });
  expect(await lease(one, 1)).toMatchObject({ granted: 0, why: 'rate' });
});

it('charges what has started', async () => {
  const { one, lease, giveBack } = await testLimit({ rateLimit: { limit: 1, periodMs: 3_600_000 } });
  await lease(one, 1, 't');
  await giveBack(one, ['t\t1']);
  expect(await lease(one, 1)).toMatchObject({ granted: 0, why: 'rate' });
});

it('takes a queue whose claim found no job out of the line', async () => {
  const { one, two, limit, lease, giveBack } = await testLimit({ maxRunning: 1 });
  await lease(one, 2, 't'); // gets one of two, so it waits for the other
  await lease(two, 1);
  await giveBack(one, ['t\t1'], { isUnused: true });
  const { waiting } = await one.run(one.scripts.sharedLimits.get({ limit }));
  expect(waiting).toEqual([two.scripts.keys.queue]);
});

it('gives units back once, and keeps the permit of the job that runs', async () => {
  const { one, lease, giveBack, running } = await testLimit({
    maxRunning: 1,
    rateLimit: { limit: 1, periodMs: 3_600_000, burst: 4 },
  });
  expect(await lease(one, 1, 't', undefined, 4)).toMatchObject({ granted: 1 });
  const unneeded = { isUnused: true, cost: 1, renamed: 't\t-1' };
  await giveBack(one, ['t\t1'], unneeded);
  await giveBack(one, ['t\t1'], unneeded);
  expect(await running()).toBe(1);
  expect(await lease(one, 1)).toMatchObject({ granted: 0, why: 'slots' });
  await giveBack(one, ['t\t-1']);
  expect(await running()).toBe(0);
  expect(await lease(one, 1)).toMatchObject({ granted: 1 });
  expect(await lease(one, 1)).toMatchObject({ granted: 0 });
});

it.each([
  ['12', true],
  ['1', false],
  ['2', false],
  ['112', false],
  ['122', false],
])('refunds by the version 12, and not by one that is only like it: %s', async (version, isRefunded) => {
  const values = { rateLimit: { limit: 1, periodMs: 3_600_000 } };
  const { one, limit, lease, giveBack } = await testLimit(values);
  for (let i = 2; i <= 12; i++) {
    await one.run(one.scripts.sharedLimits.set({ limit, values: { ...values, maxRunning: i } }));
  }
  await lease(one, 1, 't');
  await giveBack(one, ['t\t1'], { isUnused: true, version });
  expect(await lease(one, 1, 'u')).toMatchObject({ granted: isRefunded ? 1 : 0 });
});
