// The clock of the process, by which all waits of the library run.
import { expect, it } from '@jest/globals';
import { systemClock } from '#queue/runtime/clock.js';

it('runs no task of a timeout or an interval that was cleared', async () => {
  let ran = 0;
  for (const begin of [systemClock.setTimeout, systemClock.setInterval]) {
    systemClock.clear(begin(() => ran++, 1));
  }
  await new Promise<void>((resolve) => systemClock.setTimeout(resolve, 5));
  expect(ran).toBe(0);
});
