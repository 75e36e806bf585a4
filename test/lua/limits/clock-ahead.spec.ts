// What a server's clock leaves behind that was ahead for a while: rests and spent rates far in the future. The next claim cuts them to
// what a clock of now could have made.
import { expect, it } from '@jest/globals';
import { queueOn, testQueue } from '../../support/queue/queue-state.js';
import { connectClocked } from '../../support/redis/clocked-redis.js';

const HOUR = 3_600_000;
const RATE = { limit: 1, periodMs: 1_000 };

it('cuts the rest of a queue to its length', async () => {
  const q = testQueue();
  await q.addAll('a');
  await q.redis.hset(q.keys.settings, { rest_ms: 1_000, rests_until_ms: (await q.now()) + HOUR });
  expect(await q.claim(1)).toEqual([]);
  expect(Number(await q.redis.hget(q.keys.settings, 'rests_until_ms'))).toBeLessThanOrEqual(
    (await q.now()) + 1_000,
  );
});

it('cuts what a queue has spent of its rate to its burst', async () => {
  const q = testQueue();
  await q.run(q.scripts.limits.set({ rateLimit: RATE }));
  await q.addAll('a');
  await q.redis.hset(q.keys.settings, 'rate_tat_us', ((await q.now()) + HOUR) * 1_000);
  const { nextDueInMs } = await q.run(q.claimCall(1));
  expect(nextDueInMs).toBeLessThanOrEqual(RATE.periodMs + 100);
  expect(Number(await q.redis.hget(q.keys.settings, 'rate_tat_us')) / 1_000).toBeLessThan((await q.now()) + 2_000);
});

it('cuts the rest of a group, and what it has spent of its rate', async () => {
  const q = testQueue();
  await q.run(q.scripts.groups.set({ name: 'g', limits: { rateLimit: RATE } }));
  await q.add('a', { group: 'g' });
  const state = `${q.keys.groupsPrefix}state:g`;
  const later = (await q.now()) + HOUR;
  await q.redis.hset(state, { rest_ms: 1_000, rests_until_ms: later, rate_tat_us: later * 1_000 });
  expect(await q.claim(1)).toEqual([]);
  expect(Number(await q.redis.hget(state, 'rests_until_ms'))).toBeLessThanOrEqual((await q.now()) + 1_000);
  expect(Number(await q.redis.hget(state, 'rate_tat_us')) / 1_000).toBeLessThan((await q.now()) + 2_000);
});

it('leaves the rest of a queue as it is, if a clock of now could have made it', async () => {
  const NOW = 1_800_000_000_000;
  const left = [500, 1_000, 1_001].map(async (ms) => {
    const q = queueOn(connectClocked({ nowMs: NOW }));
    await q.addAll('a');
    await q.redis.hset(q.keys.settings, { rest_ms: 1_000, rests_until_ms: NOW + ms });
    await q.claim(1);
    return Number(await q.redis.hget(q.keys.settings, 'rests_until_ms')) - NOW;
  });
  expect(await Promise.all(left)).toEqual([500, 1_000, 1_000]);
});
