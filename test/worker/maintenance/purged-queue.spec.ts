// A queue that was purged with all its keys stays as one that nobody uses. Processes still know and maintain it.
import { expect, it, jest } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { silentLogger } from '#queue/runtime/logger.js';
import { systemClock } from '#queue/runtime/clock.js';
import { Sweeper } from '#worker/maintenance/sweeper.js';
import { coreQueue } from '../../support/queue/core-queue.js';

it('gets no key again from the processes that maintain it, but their right to do so for seconds', async () => {
  const { queue, state } = coreQueue();
  const others = [1, 2].map(() => new JobQueue(state.redis, queue.name));
  const sweepers = others.map((each) => new Sweeper([each], 5_000, silentLogger, { version: '1.0' }));
  let passedMs = 0;
  const { monotonic } = systemClock;
  jest.spyOn(systemClock, 'monotonic').mockImplementation(() => monotonic() + passedMs);
  await queue.enqueue(1);
  await Promise.all(sweepers.map((each) => each.runRound()));
  expect(await state.redis.exists(state.keys.historyOpen)).toBe(1);
  await queue.purge({ confirm: queue.name, everything: true });
  for (let minute = 0; minute < 3; minute++) {
    passedMs += 61_000;
    await Promise.all(sweepers.map((each) => each.runRound()));
  }
  const { maintainers: _right, ...left } = await state.snapshot();
  expect(left).toEqual({});
  expect(await state.redis.pttl(state.keys.maintainers)).toBeLessThanOrEqual(20_000);
  jest.restoreAllMocks();
});
