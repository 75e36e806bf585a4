import { expect, it } from '@jest/globals';
import { testQueue } from '../../support/queue/queue-state.js';
import { HOUR, hourly } from './limited-queue.js';

it('returns the limits that were set, and nothing on a plain queue', async () => {
  const q = testQueue();
  expect(await q.run(q.scripts.limits.get())).toEqual({ source: 'none' });
  await q.run(q.scripts.limits.set({ maxRunning: 4, ...hourly(60, 2) }));
  expect(await q.run(q.scripts.limits.get())).toEqual({
    source: 'set',
    maxRunning: 4,
    rateLimit: { limit: 60, periodMs: HOUR, burst: 2 },
  });
});

it('returns the limits of the code beside those that override them, also once no worker runs', async () => {
  const code = { maxRunning: 50, ...hourly(60, 2), groups: { maxRunning: 3, weight: 2 } };
  const q = testQueue(code);
  const read = async () => (await q.run(q.scripts.limits.get())).configured;
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true }));
  expect(await read()).toBeUndefined();
  await q.run(q.scripts.limits.set({ maxRunning: 5 }));
  expect(await read()).toEqual(code);
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: false }));
  expect(await read()).toEqual(code);
});

it('tells a code without limits from one that no worker has said', async () => {
  const q = testQueue();
  await q.run(q.scripts.limits.set({ maxRunning: 5 }));
  expect(await q.run(q.scripts.limits.get())).toEqual({ source: 'set', maxRunning: 5 });
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true }));
  expect(await q.run(q.scripts.limits.get())).toEqual({ source: 'set', maxRunning: 5, configured: {} });
});

it('returns no limits of a text that another program wrote', async () => {
  const q = testQueue({ maxRunning: 5 });
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true }));
  await q.run(q.scripts.limits.set({ maxRunning: 5 }));
  for (const text of ['{', '7', '{"a":1}']) {
    await q.redis.hset(q.keys.settings, 'limits_text', text);
    expect(await q.run(q.scripts.limits.get())).toEqual({ source: 'set', maxRunning: 5 });
  }
});
