// lua/lib/core/clock.lua, as every script reads it: TIME answers seconds and microseconds, these without zeros before them.
import { expect, it } from '@jest/globals';
import { connectClocked } from '../support/redis/clocked-redis.js';
import { queueOn } from '../support/queue/queue-state.js';

const SECOND = 1_700_000_000_000; // any full one would do

it.each([
  ['no microsecond', 0, 0],
  ['one digit of them', 0.005, 0],
  ['two', 0.042, 0],
  ['three', 0.7, 0],
  ['four', 7.25, 7],
  ['five', 42.5, 42],
  ['six', 999.75, 999],
])('the time in ms where the server answers %s', async (_, fraction, ms) => {
  const q = queueOn(connectClocked({ nowMs: SECOND + fraction }));
  await q.add('a');
  expect(await q.job('a')).toMatchObject({ enqueued_at_ms: String(SECOND + ms) });
  const [claimed] = await q.claim(1);
  expect(claimed).toMatchObject({ id: 'a' });
  expect(await q.redis.zscore(q.keys.claims, 'a')).toBe(String(SECOND + ms + 30_000));
});
