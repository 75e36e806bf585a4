import { expect, it } from '@jest/globals';
import { clocked, close, MINUTE, START } from './minutes.js';

it('reads nothing of a queue that no process maintained', async () => {
  const { clock, q } = clocked();
  expect(await q.run(q.scripts.history.read({ backMs: MINUTE, most: 10 }))).toEqual({
    nowMs: clock.nowMs,
    sinceMs: undefined,
    closedAtMs: undefined,
    entries: [],
    marks: [],
    closedTotals: { enqueued: 0, completed: 0, failed: 0, cancelled: 0 },
  });
});

it('reads in slices, with the marks in the first, and nothing older than it was asked for', async () => {
  const { clock, q } = clocked();
  for (let i = 0; i < 4; i++) {
    await close(q, { pending: i, version: '1.0' });
    clock.nowMs += MINUTE;
  }
  const first = await q.run(q.scripts.history.read({ backMs: 2 * MINUTE + 2_000, most: 1 }));
  expect(first.entries.map(({ endMs, pending }) => [endMs - START, pending])).toEqual([[2 * MINUTE, 2]]);
  expect(first.marks).toEqual([]); // the deploy was before that
  const next = await q.run(q.scripts.history.read({ backMs: 2 * MINUTE, after: first.entries[0]!.id, most: 10 }));
  expect(next.entries.map(({ pending }) => pending)).toEqual([3]);
  expect(next.marks).toEqual([]);
  const early = await q.run(q.scripts.history.read({ backMs: 9 * MINUTE, most: 10, untilMs: 2 * MINUTE + 2_000 }));
  expect(early.entries.map(({ pending }) => pending)).toEqual([1]);
  const all = await q.run(q.scripts.history.read({ backMs: 72 * 60 * MINUTE, most: 1 }));
  expect(all.marks).toEqual([{ kind: 'deploy', version: '1.0', at: new Date(START + 1_000) }]);
});
