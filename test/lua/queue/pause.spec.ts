import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, queueWith, claimedJob } from '../../support/queue/queue-state.js';

it('I5: stops claims, by the time of the server, and takes jobs in', async () => {
  const q = await queueWith('a');
  expect(await q.run(q.scripts.pause())).toBe(true);
  expect(Math.abs(Number(await q.redis.hget(q.keys.settings, 'paused_at_ms')) - (await q.now()))).toBeLessThan(
    5_000,
  );
  await q.addAll('b');
  expect(await q.claim(5)).toEqual([]);
  expect(await q.pending()).toEqual(['a', 'b']);
});

it('continues to promote due jobs, by a claim and by a sweep, and hands them out at its end', async () => {
  const q = testQueue();
  await q.add('early', { delay_ms: 60_000 });
  await q.add('late', { delay_ms: 60_000 });
  await q.run(q.scripts.pause());
  await q.makeDue('early');
  expect(await q.claim(5)).toEqual([]);
  expect([await q.status('early'), await q.status('late')]).toEqual(['pending', 'scheduled']);
  await q.makeDue('late');
  await q.run(q.scripts.sweep.promote({ limit: 10 }));
  expect(await q.pending()).toEqual(['early', 'late']);
  await q.run(q.scripts.resume());
  expect((await q.claim(5)).map(({ id }) => id)).toEqual(['early', 'late']);
});

it('leaves a running job to its worker', async () => {
  const { q, job } = await claimedJob('a');
  await q.run(q.scripts.pause());
  expect((await q.run(q.scripts.extend([job]))).lost).toEqual([]);
  expect((await q.complete(job)).lost).toEqual([]);
});

it('I3: repeated it says no, and keeps the first time, who and why', async () => {
  const q = testQueue();
  await q.run(q.scripts.pause({ by: 'ada', reason: 'the provider is down' }));
  expect(await expectUnchanged(q, () => q.run(q.scripts.pause({ by: 'bob' })))).toBe(false);
  const paused = { pausedBy: 'ada', pauseReason: 'the provider is down' };
  expect(await q.run(q.scripts.stats())).toMatchObject(paused);
  expect(await q.run(q.scripts.resume())).toBe(true);
  await q.run(q.scripts.pause());
  const stats = await q.run(q.scripts.stats());
  expect([stats.pausedBy, stats.pauseReason]).toEqual([undefined, undefined]);
});

it('I5: ends by itself at its time, by the clock of the server', async () => {
  const q = await queueWith('a');
  expect(await q.run(q.scripts.pause({ by: 'ada', forMs: 3_600_000 }))).toBe(true);
  const { jobs, nextDueInMs } = await q.run(q.claimCall(5));
  expect(jobs).toEqual([]);
  expect(nextDueInMs! > 3_590_000 && nextDueInMs! <= 3_600_000).toBe(true);
  const { pausedUntil } = await q.run(q.scripts.stats());
  expect(Math.abs(pausedUntil!.getTime() - (await q.now()) - 3_600_000)).toBeLessThan(10_000);
  await q.redis.hset(q.keys.settings, 'paused_until_ms', (await q.now()) - 1);
  expect(await q.run(q.scripts.stats())).toMatchObject({ pausedAt: null });
  expect(await q.run(q.scripts.stats())).not.toHaveProperty('pausedBy');
  expect((await q.claim(5)).map(({ id }) => id)).toEqual(['a']);
  expect(await q.redis.exists(q.keys.settings)).toBe(0);
});

it('of a time that is over counts as none for the next pause and resume', async () => {
  const q = testQueue();
  await q.run(q.scripts.pause({ by: 'ada', forMs: 60_000 }));
  await q.redis.hset(q.keys.settings, 'paused_until_ms', (await q.now()) - 1);
  expect(await q.run(q.scripts.pause({ reason: 'again' }))).toBe(true);
  const stats = await q.run(q.scripts.stats());
  expect([stats.pausedBy, stats.pauseReason, stats.pausedUntil]).toEqual([undefined, 'again', undefined]);
  await q.run(q.scripts.resume());
  await q.run(q.scripts.pause({ forMs: 60_000 }));
  await q.redis.hset(q.keys.settings, 'paused_until_ms', (await q.now()) - 1);
  expect(await q.run(q.scripts.resume())).toBe(false);
  expect(await q.redis.exists(q.keys.settings)).toBe(0);
});

it('of a group notes who and why', async () => {
  const q = testQueue();
  await q.run(q.scripts.groups.pause({ name: 'g', by: 'ada', reason: 'a leak' }));
  expect(await q.run(q.scripts.groups.pause({ name: 'g', by: 'bob' }))).toBe(false);
  expect(await q.run(q.scripts.groups.named({ names: ['g'] }))).toMatchObject([
    { pausedBy: 'ada', pauseReason: 'a leak' },
  ]);
  await q.run(q.scripts.groups.resume({ name: 'g' }));
  const [group] = await q.run(q.scripts.groups.named({ names: ['g'] }));
  expect(group).not.toHaveProperty('pausedBy');
});
