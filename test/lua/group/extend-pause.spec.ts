import { expect, it } from '@jest/globals';
import { expectUnchanged } from '../../support/queue/queue-state.js';
import { seededGroup, theGroup } from './seeded-group.js';

/** Returns a queue whose group is paused for a minute, and the end of its pause. */
async function paused(...ids: string[]) {
  const q = await seededGroup(...ids);
  await q.run(q.scripts.groups.pause({ name: 'g', by: 'ada', reason: 'a leak', forMs: 60_000 }));
  return { q, ends: (await theGroup(q)).pausedUntil!.getTime() };
}

it('I5: gives the pause a later end by the clock of the server, and keeps who and why', async () => {
  const { q, ends } = await paused('a');
  expect(await q.run(q.scripts.groups.extendPause({ name: 'g', knownEndMs: ends, forMs: 3_600_000 }))).toBe(true);
  const group = await theGroup(q);
  expect(group).toMatchObject({ pausedBy: 'ada', pauseReason: 'a leak' });
  expect(group.pausedUntil!.getTime() - ends).toBeGreaterThanOrEqual(3_540_000);
});

it('lets no job start before the later end', async () => {
  const { q, ends } = await paused('a');
  await q.run(q.scripts.groups.extendPause({ name: 'g', knownEndMs: ends, forMs: 3_600_000 }));
  const { jobs, nextDueInMs } = await q.run(q.claimCall(5));
  expect(jobs).toEqual([]);
  expect(nextDueInMs).toBeGreaterThan(3_500_000);
});

it('I3: repeated it changes nothing, because the end is another one', async () => {
  const { q, ends } = await paused('a');
  await q.run(q.scripts.groups.extendPause({ name: 'g', knownEndMs: ends, forMs: 3_600_000 }));
  expect(
    await expectUnchanged(q, () =>
      q.run(q.scripts.groups.extendPause({ name: 'g', knownEndMs: ends, forMs: 3_600_000 })),
    ),
  ).toBe(false);
});

it('makes no pause shorter, gives none an end, and begins none', async () => {
  const { q, ends } = await paused('a');
  const extend = (forMs: number) => q.run(q.scripts.groups.extendPause({ name: 'g', knownEndMs: ends, forMs }));
  expect(await expectUnchanged(q, () => extend(1_000))).toBe(false);
  await q.run(q.scripts.groups.resume({ name: 'g' }));
  expect(await expectUnchanged(q, () => extend(3_600_000))).toBe(false);
  await q.run(q.scripts.groups.pause({ name: 'g' }));
  expect(await expectUnchanged(q, () => extend(3_600_000))).toBe(false);
});
