// Which queues a round of maintenance sweeps.
import { expect, it } from '@jest/globals';
import type { Look } from '#queue/store/queues-verbs.js';
import type { Place } from '#queue/validation/key-table.js';
import { systemClock } from '#queue/runtime/clock.js';
import { DueQueues, LOOKED_AT, REMAINS } from '#worker/maintenance/maintenance-right.js';
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

const MINUTE = 60_000;

const seen = (places: Place[]): Look => ({ atMs: 0, found: new Set(places) });

/** Returns at which of some times a round sweeps a queue. */
function sweptAt(timesMs: readonly number[], look: Place[], remains?: Place[]): number[] {
  const times = { nowMs: 0 };
  const due = new DueQueues({ ...systemClock, monotonic: () => times.nowMs, random: () => 0 });
  const queue = newQueue();
  return timesMs.filter((nowMs) => {
    times.nowMs = nowMs;
    return due.isDue(queue, seen(look), remains && seen(remains));
  });
}

it.each(LOOKED_AT.filter((place) => place !== 'failed'))('sweeps a queue with %s in each round', (place) => {
  expect(sweptAt([0, 1_000, 2_000], [place])).toEqual([0, 1_000, 2_000]);
});

it('sweeps a queue with nothing but failures once a minute', () => {
  expect(sweptAt([0, 1_000, MINUTE, 2 * MINUTE - 1, 2 * MINUTE], ['failed'])).toEqual([0, MINUTE, 2 * MINUTE]);
});

it.each(REMAINS)('sweeps a queue with %s in each round that looks for remains', (place) => {
  expect(sweptAt([0], [], [place])).toEqual([0]);
  expect(sweptAt([0], [], [])).toEqual([]);
});

it('looks for remains in the first round at a server, and then every ten minutes', () => {
  const times = { nowMs: 0 };
  const due = new DueQueues({ ...systemClock, monotonic: () => times.nowMs });
  const looks = [0, 1_000, 10 * MINUTE - 1, 10 * MINUTE].map((nowMs) => {
    times.nowMs = nowMs;
    return due.looksForRemains('a:6379');
  });
  expect(looks).toEqual([true, false, false, true]);
  expect(due.looksForRemains('b:6379')).toBe(true);
});
