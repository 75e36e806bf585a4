import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue } from '../../support/queue/queue-state.js';

/** Returns a queue that is paused for a minute, and the end of its pause. */
async function paused() {
  const q = testQueue();
  await q.run(q.scripts.pause({ by: 'ada', reason: 'the provider is down', forMs: 60_000 }));
  return { q, ends: (await q.run(q.scripts.stats())).pausedUntil!.getTime() };
}

it('I5: gives the pause a later end by the clock of the server, and keeps who and why', async () => {
  const { q, ends } = await paused();
  expect(await q.run(q.scripts.extendPause({ knownEndMs: ends, forMs: 3_600_000 }))).toBe(true);
  const stats = await q.run(q.scripts.stats());
  expect(stats).toMatchObject({ pausedBy: 'ada', pauseReason: 'the provider is down' });
  expect(stats.pausedUntil!.getTime() - ends).toBeGreaterThanOrEqual(3_540_000);
});

it('I3: repeated it changes nothing, because the end is another one', async () => {
  const { q, ends } = await paused();
  await q.run(q.scripts.extendPause({ knownEndMs: ends, forMs: 3_600_000 }));
  expect(await expectUnchanged(q, () => q.run(q.scripts.extendPause({ knownEndMs: ends, forMs: 3_600_000 })))).toBe(
    false,
  );
});

it('makes no pause shorter, gives none an end, and begins none', async () => {
  const { q, ends } = await paused();
  expect(await expectUnchanged(q, () => q.run(q.scripts.extendPause({ knownEndMs: ends, forMs: 1_000 })))).toBe(
    false,
  );
  await q.run(q.scripts.resume());
  expect(await expectUnchanged(q, () => q.run(q.scripts.extendPause({ knownEndMs: ends, forMs: 3_600_000 })))).toBe(
    false,
  );
  await q.run(q.scripts.pause());
  expect(await expectUnchanged(q, () => q.run(q.scripts.extendPause({ knownEndMs: ends, forMs: 3_600_000 })))).toBe(
    false,
  );
});
