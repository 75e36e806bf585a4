// The clock of tests: timers fire at their times. Those of one time fire in the order in which they were set.
import { expect, it } from '@jest/globals';
import { VirtualClock } from '#testing/time/virtual-clock.js';

it.each<[string, (clock: VirtualClock) => Promise<unknown>]>([
  ['it advances', (clock) => clock.advance(10)],
  ['it jumps', (clock) => clock.jump(clock.now() + 10)],
])('fires the timers of one time in the order in which they were set, where %s', async (_, move) => {
  const clock = new VirtualClock();
  const fired: string[] = [];
  clock.setTimeout(() => fired.push('late'), 6);
  for (const name of ['one', 'two', 'three']) clock.setTimeout(() => fired.push(name), 5);
  await move(clock);
  expect(fired).toEqual(['one', 'two', 'three', 'late']);
});

it('fires a timer before the next turn of an interval of the same time, which is set later', async () => {
  const clock = new VirtualClock();
  const fired: string[] = [];
  clock.setInterval(() => fired.push('interval'), 5);
  clock.setTimeout(() => void clock.setTimeout(() => fired.push('timeout'), 6), 4);
  await clock.advance(10);
  expect(fired).toEqual(['interval', 'timeout', 'interval']);
});
