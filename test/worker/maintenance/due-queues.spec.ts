// Which queues a round of maintenance sweeps.
import { expect, it } from '@jest/globals';
import type { Look } from '#queue/store/verbs/queues-verbs.js';
import { systemClock } from '#queue/runtime/clock.js';
import { DueQueues } from '#worker/maintenance/sweep/due-queues.js';
import { newQueue } from '../../support/worker/workers.js';

const DAY = 86_400_000;
const nothing: Look = { atMs: 0, found: new Set() };

it('sweeps a queue that seems empty within a day after the first look, not all in one round, and then each day', () => {
  const times = { nowMs: 0 };
  const randoms = [0.25, 0.75];
  const due = new DueQueues({ ...systemClock, monotonic: () => times.nowMs, random: () => randoms.shift()! });
  const queues = [newQueue(), newQueue()];
  const dueAt = (nowMs: number) => {
    times.nowMs = nowMs;
    return queues.map((queue) => due.isDue(queue, nothing, undefined));
  };
  expect(dueAt(0)).toEqual([false, false]);
  expect(dueAt(DAY / 4)).toEqual([false, true]);
  expect(dueAt((3 * DAY) / 4)).toEqual([true, false]);
  expect(dueAt((5 * DAY) / 4)).toEqual([false, true]);
  expect(dueAt((7 * DAY) / 4)).toEqual([true, false]);
});
