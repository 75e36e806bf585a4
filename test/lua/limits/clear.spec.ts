import { expect, it } from '@jest/globals';
import { HOUR, hourly, ids, limited } from './limited-queue.js';

it('takes limits and rest away, and leaves a pause', async () => {
  const q = await limited({ maxRunning: 1, ...hourly(60, 1) }, 'a', 'b');
  const [a] = await q.claim(1);
  await q.run(q.scripts.release([{ ...a!, reason: 'rate_limited', delayMs: HOUR }]));
  await q.run(q.scripts.pause());
  await q.run(q.scripts.limits.clear());
  expect(Object.keys(await q.redis.hgetall(q.keys.settings))).toEqual(['paused_at_ms']);
  await q.run(q.scripts.resume());
  expect(ids(await q.claim(5))).toEqual(['a', 'b']);
  expect(await q.redis.exists(q.keys.settings)).toBe(0); // a plain queue again
});

it('wakes a worker for the jobs that the cleared limits held back', async () => {
  const q = await limited({ maxRunning: 1 }, 'a', 'b');
  await q.claim(2);
  expect(ids(await q.claim(1))).toEqual([]);
  await q.redis.del(q.keys.wake);
  await q.run(q.scripts.limits.clear());
  expect(await q.redis.exists(q.keys.wake)).toBe(1);
});
