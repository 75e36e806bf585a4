import { expect, it } from '@jest/globals';
import { clocked, close, MINUTE, read } from './minutes.js';

it('adds the times of several workers to the minute', async () => {
  const { clock, q } = clocked();
  await close(q);
  await q.run(q.scripts.history.addDurations({ worker: 'w1', batch: 'b1', counts: ['w3', 2, 'r10', 2] }));
  await q.run(q.scripts.history.addDurations({ worker: 'w2', batch: 'b1', counts: ['w3', 1] }));
  clock.nowMs += MINUTE;
  await close(q);
  clock.nowMs += MINUTE;
  await close(q, { pending: 1 });
  const { entries } = await read(q);
  expect(entries.map(({ wait, run }) => [wait.count, run.count])).toEqual([
    [3, 2],
    [0, 0],
  ]);
});

it('adds a batch once, however often it is repeated', async () => {
  const { q } = clocked();
  const batch = () => q.run(q.scripts.history.addDurations({ worker: 'w1', batch: 'b1', counts: ['w3', 2] }));
  expect([await batch(), await batch(), await batch()]).toEqual([true, false, false]);
  expect(await q.redis.hgetall(q.keys.historyOpen)).toEqual({ w3: '2' });
  expect(await q.redis.pttl(`${q.keys.historyBatchPrefix}w1`)).toBeGreaterThan(0);
});
