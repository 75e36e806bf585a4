import { expect, it } from '@jest/globals';
import type { TestQueue } from '../../support/queue/queue-state.js';
import { seededGroup, theGroup } from './seeded-group.js';

it('a pause starts no job of the group, and keeps who paused it first', async () => {
  const q = await seededGroup('a');
  await q.add('plain');
  expect(await q.run(q.scripts.groups.pause({ name: 'g', by: 'ada', reason: 'why' }))).toBe(true);
  expect(await q.run(q.scripts.groups.pause({ name: 'g', by: 'bob' }))).toBe(false);
  expect(await theGroup(q)).toMatchObject({ pausedBy: 'ada', pauseReason: 'why', pausedAt: expect.any(Date) });
  expect(await q.claim(2)).toMatchObject([{ id: 'plain' }]);
});

it('I5: a pause ends by itself at its time, by the clock of the server, and leaves nothing behind', async () => {
  const q = await seededGroup('a', 'b');
  expect(await q.run(q.scripts.groups.pause({ name: 'g', reason: 'why', forMs: 3_600_000 }))).toBe(true);
  const { jobs, nextDueInMs } = await q.run(q.claimCall(5));
  expect(jobs).toEqual([]);
  expect(nextDueInMs! > 3_590_000 && nextDueInMs! <= 3_600_000).toBe(true);
  const { pausedUntil } = await theGroup(q);
  expect(Math.abs(pausedUntil!.getTime() - (await q.now()) - 3_600_000)).toBeLessThan(10_000);
  await endPause(q);
  expect(await theGroup(q)).toMatchObject({ pausedAt: null, opensAt: null });
  expect(await theGroup(q)).not.toHaveProperty('pauseReason');
  expect((await q.claim(5)).map(({ id }) => id)).toEqual(['a', 'b']);
  expect(await q.redis.exists(`${q.keys.groupsPrefix}state:g`)).toBe(0);
});

it('a pause that is over counts as none for the next pause and resume', async () => {
  const q = await seededGroup('a');
  await q.run(q.scripts.groups.pause({ name: 'g', by: 'ada', forMs: 60_000 }));
  await endPause(q);
  expect(await q.run(q.scripts.groups.resume({ name: 'g' }))).toBe(false);
  await q.run(q.scripts.groups.pause({ name: 'g', forMs: 60_000 }));
  await endPause(q);
  expect(await q.run(q.scripts.groups.pause({ name: 'g' }))).toBe(true);
  expect(await theGroup(q)).not.toHaveProperty('pausedUntil');
  expect(await q.claim(1)).toEqual([]);
});

it('a pause with an end can be ended before', async () => {
  const q = await seededGroup('a');
  await q.run(q.scripts.groups.pause({ name: 'g', forMs: 60_000 }));
  expect(await q.run(q.scripts.groups.resume({ name: 'g' }))).toBe(true);
  expect(await q.claim(1)).toMatchObject([{ id: 'a' }]);
});

it('a pause with an end is forgotten after it, where no job waits', async () => {
  const q = await seededGroup('a');
  const [job] = await q.claim(1);
  await q.run(q.scripts.groups.pause({ name: 'g', forMs: 60_000 }));
  await q.complete(job!);
  await endPause(q);
  await q.claim(1);
  expect(await q.redis.exists(`${q.keys.groupsPrefix}state:g`)).toBe(0);
});

/** Lets the time of the pause be over. */
async function endPause(q: TestQueue): Promise<void> {
  const past = (await q.now()) - 1;
  await q.redis.hset(`${q.keys.groupsPrefix}state:g`, 'paused_until_ms', past);
  for (const key of ['gated', 'resting']) {
    await q.redis.zadd(`${q.keys.groupsPrefix}${key}`, 'XX', past, 'g');
  }
}
