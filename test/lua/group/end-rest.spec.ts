import { expect, it } from '@jest/globals';
import type { ClaimedJob } from '#queue/model/job.js';
import type { TestQueue } from '../../support/queue/queue-state.js';
import { seededGroup, theGroup } from './seeded-group.js';

/** Puts a job back because its key has no permit. */
const putBack = async (q: TestQueue, job: ClaimedJob, delayMs = 5_000) =>
  q.run(q.scripts.release([{ ...job, reason: 'permit', delayMs, unstarted: true }]));

const endRest = async (q: TestQueue) => q.run(q.scripts.groups.endRest({ name: 'g' }));

it('lets a group start whose job went back for want of a permit, as if it had not been claimed', async () => {
  const q = await seededGroup('a', 'b');
  const [job] = await q.claim(1);
  expect(await putBack(q, job!)).toEqual(['released']);
  expect(await q.job('a')).not.toHaveProperty('ready_at_ms'); // its age counts from its enqueue, as before
  expect(await q.job('a')).toMatchObject({ status: 'pending', attempts: '0', claim_token: '' });
  expect(await q.job('a')).not.toHaveProperty('attempt_log');
  expect(await q.total('released')).toBe(0);
  expect(Number((await theGroup(q)).opensAt) - (await q.now())).toBeGreaterThan(4_000);
  expect(await q.claim(2)).toEqual([]);
  await q.takeWake();
  await endRest(q);
  expect(await q.takeWake()).toBe(true);
  expect((await q.claim(2)).map(({ id }) => id)).toEqual(['a', 'b']);
});

it('lets no group rest for a permit that came after the claim', async () => {
  const q = await seededGroup('a');
  const [job] = await q.claim(1);
  await endRest(q);
  await putBack(q, job!);
  expect((await theGroup(q)).opensAt).toBeNull();
  const [again] = await q.claim(1);
  await q.redis.hset(q.keys.job('a'), 'claimed_at_ms', String((await q.now()) + 1));
  await putBack(q, again!); // that permit was of before this claim
  expect((await theGroup(q)).opensAt).not.toBeNull();
});

it('keeps a rest that a handler asked for, also a shorter one', async () => {
  const q = await seededGroup('a', 'b');
  const [one, two] = await q.claim(2);
  await putBack(q, one!);
  await q.run(q.scripts.release([{ ...two!, reason: 'rate_limited', delayMs: 2_000 }]));
  await endRest(q);
  const restMs = Number((await theGroup(q)).opensAt) - (await q.now());
  expect(restMs).toBeGreaterThan(1_000);
  expect(restMs).toBeLessThanOrEqual(2_000);
});

it('a repeat of the release changes nothing, and a cancelled job ends', async () => {
  const q = await seededGroup('a', 'b');
  const [one, two] = await q.claim(2);
  await putBack(q, one!);
  const before = await q.job('a');
  expect(await putBack(q, one!)).toEqual(['released']);
  expect(await q.job('a')).toEqual(before);
  await q.redis.hset(q.keys.job('b'), 'cancel_requested_at_ms', String(await q.now()));
  expect(await putBack(q, two!)).toEqual(['cancelled']);
});

it('forgets the rest of each group', async () => {
  const q = await seededGroup('a');
  const [job] = await q.claim(1);
  await putBack(q, job!);
  const key = `${q.keys.groupsPrefix}keyed`;
  expect(await q.redis.pttl(key)).toBeGreaterThan(50_000);
  await q.redis.zadd(key, 1, 'old');
  await endRest(q);
  expect(await q.redis.zrange(key, '0', '-1')).toEqual(['g']);
});

it('wakes a worker for a job that goes back again, although one had waited for the rest that ended', async () => {
  const q = await seededGroup('a');
  const [job] = await q.claim(1);
  await putBack(q, job!);
  expect(await q.claim(1)).toEqual([]); // this worker waits until then
  await endRest(q);
  const [again] = await q.claim(1); // and no longer
  await q.redis.hset(q.keys.job('a'), 'claimed_at_ms', String((await q.now()) + 1));
  await q.takeWake();
  await putBack(q, again!);
  expect(await q.takeWake()).toBe(true);
});
