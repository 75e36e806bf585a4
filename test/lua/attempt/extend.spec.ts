import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, queueWith, claimedJob } from '../../support/queue/queue-state.js';

it('I5: extends a claim from now, by the time of the server', async () => {
  const { q, job } = await claimedJob('a');
  const before = await q.now();
  expect(await q.run(q.scripts.extend([job], 90_000))).toEqual({ lost: [], cancelRequested: [] });
  const expiry = Number(await q.redis.zscore(q.keys.claims, 'a'));
  expect(expiry).toBeGreaterThanOrEqual(before + 90_000);
  expect(expiry).toBeLessThanOrEqual((await q.now()) + 90_000);
});

it('extends a claim past its expiry that was not reclaimed', async () => {
  const { q, job } = await claimedJob('a');
  await q.expireClaims('a');
  expect(await q.run(q.scripts.extend([job]))).toMatchObject({ lost: [] });
  expect(await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1_000_000, waitMs: 0 }))).toEqual({
    reclaimed: [],
    more: false,
  });
});

it('I2: a claim that was reclaimed, completed or removed is lost and not created again', async () => {
  const q = await queueWith('reclaimed', 'completed', 'gone', 'live');
  const jobs = await q.claim(4);
  await q.expireClaims('reclaimed');
  await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1_000_000, waitMs: 0 }));
  await q.run(q.scripts.complete([{ ...jobs[1]!, result: '' }]));
  await q.redis.del(q.keys.job('gone'));
  await q.redis.zrem(q.keys.claims, 'gone');
  const { lost } = await q.run(q.scripts.extend(jobs));
  expect(lost).toEqual(['reclaimed', 'completed', 'gone']);
  expect(await q.ranked(q.keys.claims)).toEqual(['live']);
});

it('I2: the token of another claim of the same job is lost', async () => {
  const q = testQueue();
  const first = await q.addAndClaim('a');
  await q.expireClaims('a');
  await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1_000_000, waitMs: 0 }));
  await q.claim(1);
  const answer = await expectUnchanged(q, () => q.run(q.scripts.extend([first])));
  expect(answer.lost).toEqual(['a']);
});

it('delivers a cancel, and extends the claim all the same', async () => {
  const { q, job } = await claimedJob('a');
  await q.run(q.scripts.cancel({ id: 'a' }));
  await q.expireClaims('a');
  expect(await q.run(q.scripts.extend([job]))).toEqual({ lost: [], cancelRequested: ['a'] });
  expect(Number(await q.redis.zscore(q.keys.claims, 'a'))).toBeGreaterThan(await q.now());
});

it('takes a batch of none, and one of 1,000', async () => {
  const q = testQueue();
  expect(await expectUnchanged(q, () => q.run(q.scripts.extend([])))).toEqual({ lost: [], cancelRequested: [] });
  await q.addAll(...Array.from({ length: 1_000 }, (_, i) => `job-${i}`));
  const jobs = await q.claim(1_000);
  expect((await q.run(q.scripts.extend(jobs, 500_000))).lost).toEqual([]);
  expect(await q.redis.zcount(q.keys.claims, (await q.now()) + 400_000, '+inf')).toBe(1_000);
  q.broken = true; // a check of each would take long
});

it('I3: repeated it gives the same answer', async () => {
  const { q, job } = await claimedJob('a');
  const call = q.scripts.extend([job, { id: 'b', token: 't' }]);
  const first = await q.run(call);
  expect(await q.run(call)).toEqual(first);
  expect(first).toEqual({ lost: ['b'], cancelRequested: [] });
});

it('distinguishes an id that looks like a notice from a notice', async () => {
  const q = await queueWith('lost', 'cancel');
  const jobs = await q.claim(2);
  await q.run(q.scripts.cancel({ id: 'cancel' }));
  const stale = jobs.map((job) => (job.id === 'lost' ? { ...job, token: 'stale' } : job));
  expect(await q.run(q.scripts.extend(stale))).toEqual({ lost: ['lost'], cancelRequested: ['cancel'] });
});
