/** @jest-environment ./test/support/own-environment.mjs */
// A reading that takes long: Redis is away only where it is silent.
import { ToldErrors } from '#dashboard/told-errors.js';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { SnapshotFeed } from '#dashboard/live/snapshot-feed.js';
import type { OverviewReading } from '#dashboard/live/overview-reader.js';
import { gate } from '../support/faults/wait.js';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Makes a feed whose readings end when the test says so. */
function newFeed(isHeard: (silentMs: number) => boolean) {
  const readings = [gate<Omit<OverviewReading, 'runs'>>(), gate<Omit<OverviewReading, 'runs'>>()];
  let begun = 0;
  const reader = { listen: () => isHeard, read: () => readings[begun++]!.promise };
  const feed = new SnapshotFeed(
    { refreshMs: 1_000 },
    reader,
    { list: () => Promise.resolve([]) },
    new ToldErrors(),
  );
  const current = async (ms: number) => {
    const event = feed.current();
    await jest.advanceTimersByTimeAsync(ms);
    return event;
  };
  return { current, readings, begun: () => begun };
}

const VIEW = { at: 1 } as Omit<OverviewReading, 'runs'>;

it.each([
  ['slow while Redis replies, and is waited for instead of begun again', true, 1],
  ['away where Redis is silent, and is begun again', false, 2],
])('is %s', async (_, isSlow, begins) => {
  const { current, readings, begun } = newFeed(() => isSlow);
  expect(await current(2_600)).toMatchObject({ overview: null, away: { isSlow } });
  await jest.advanceTimersByTimeAsync(1_000);
  readings[begins - 1]!.open(VIEW);
  expect(await current(0)).toMatchObject({ overview: VIEW, away: null });
  expect(begun()).toBe(begins);
});

it('is away where Redis is silent, also if the timer fires a moment early', async () => {
  const { current } = newFeed((silentMs) => silentMs > 2_499.2);
  expect(await current(2_600)).toMatchObject({ away: { isSlow: false } });
});

it('is slow where replies arrived while the process was busy', async () => {
  let isHeard = false;
  const { current } = newFeed(() => isHeard);
  // A busy process runs its timers before it reads the bytes that have arrived.
  setTimeout(() => setImmediate(() => (isHeard = true)), 2_500);
  expect(await current(2_600)).toMatchObject({ away: { isSlow: true } });
});
