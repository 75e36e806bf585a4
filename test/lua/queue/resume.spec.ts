import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, queueWith } from '../../support/queue/queue-state.js';

it('ends a pause and wakes a worker', async () => {
  const q = await queueWith('a');
  await q.run(q.scripts.pause());
  await q.takeWake();
  expect(await q.run(q.scripts.resume())).toBe(true);
  expect(await q.takeWake()).toBe(true);
  expect((await q.claim(1)).map((job) => job.id)).toEqual(['a']);
});

it('I3: repeated it says no and changes nothing', async () => {
  const q = testQueue();
  await q.run(q.scripts.pause());
  await q.run(q.scripts.resume());
  expect(await expectUnchanged(q, () => q.run(q.scripts.resume()))).toBe(false);
});

it('sets limits in the same step, if the queue was paused', async () => {
  const q = await queueWith('a', 'b', 'c');
  await q.run(q.scripts.pause());
  expect(await q.run(q.scripts.resume({ limits: { rateLimit: { limit: 1, periodMs: 60_000, burst: 2 } } }))).toBe(
    true,
  );
  expect((await q.claim(3)).map((job) => job.id)).toEqual(['a', 'b']);
});

it('I3: sets no limits of a queue that is not paused', async () => {
  const q = testQueue();
  await q.run(q.scripts.resume());
  const again = () => q.run(q.scripts.resume({ limits: { maxRunning: 1 } }));
  expect(await expectUnchanged(q, again)).toBe(false);
});
