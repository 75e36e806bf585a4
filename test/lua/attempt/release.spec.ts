import { expect, it } from '@jest/globals';
import type { ClaimedJob } from '#queue/model/job.js';
import type { Release } from '#queue/store/attempt-forms.js';
import { expectUnchanged, testQueue, queueWith, claimedJob } from '../../support/queue/queue-state.js';

function release(job: ClaimedJob, rest: Partial<Release> = {}): Release {
  return { ...job, reason: 'interruption', delayMs: 0, ...rest };
}

it('I6: gives the attempt back and counts the interruption', async () => {
  const { q, job } = await claimedJob('a');
  await q.takeWake();
  expect(await q.run(q.scripts.release([release(job)]))).toEqual(['released']);
  expect(await q.job('a')).toMatchObject({
    status: 'pending',
    attempts: '0',
    interruptions: '1',
    claim_token: '',
    claimed_at_ms: '0',
  });
  expect(await q.redis.zcard(q.keys.claims)).toBe(0);
  expect(await q.total('released')).toBe(1);
  expect(await q.takeWake()).toBe(true);
});

it('pushes no error out of the log of attempts, but an older one that counts as no attempt', async () => {
  const q = testQueue();
  await q.add('a', { max_attempts: 100 });
  for (let i = 0; i < 3; i++) {
    const [job] = await q.claim(1);
    await q.fail(job!);
  }
  const unlike = ['interruption', 'unhandled', 'rate_limited', 'outage'] as const;
  for (const reason of [...unlike, ...Array<'snooze'>(18).fill('snooze')] as const) {
    const [job] = await q.claim(1);
    await q.run(q.scripts.release([release(job!, { reason })]));
  }
  const log = await q.attemptLog('a');
  expect(log.map(({ outcome }) => outcome)).toEqual([...Array(3).fill('error'), ...Array(17).fill('snooze')]);
});

it('I8: puts jobs back at the front in their old order, whatever the order of the call', async () => {
  const q = await queueWith('a', 'b', 'c', 'd');
  const [a, b, c] = await q.claim(3);
  await q.run(q.scripts.release([b!, a!, c!].map((job) => release(job))));
  expect(await q.pending()).toEqual(['a', 'b', 'c', 'd']);
});

it('I8: puts a prioritized job back into its old place', async () => {
  const q = testQueue();
  for (const id of ['a', 'b', 'c']) await q.add(id, { priority: 5 });
  const [a] = await q.claim(1);
  await q.run(q.scripts.release([release(a!)]));
  expect(await q.ranked(q.keys.prioritized)).toEqual(['a', 'b', 'c']);
});

it('keeps the place of a prioritized job whose rank was deleted, also after the next claim', async () => {
  const q = testQueue();
  await q.add('a', { priority: 5 });
  const [a] = await q.claim(1);
  await q.redis.hdel(q.keys.job('a'), 'rank');
  await q.run(q.scripts.release([release(a!)]));
  const rank = await q.redis.zscore(q.keys.prioritized, 'a');
  expect(await q.job('a')).toMatchObject({ rank });
});

it('a snoozed job runs again after its delay, by the time of the server', async () => {
  const { q, job } = await claimedJob('a');
  const before = await q.now();
  await q.run(q.scripts.release([release(job, { reason: 'snooze', delayMs: 60_000 })]));
  const due = Number(await q.redis.zscore(q.keys.scheduled, 'a'));
  expect(due).toBeGreaterThanOrEqual(before + 60_000);
  expect(await q.job('a')).toMatchObject({ status: 'scheduled', attempts: '0', snoozes: '1' });
  expect((await q.attemptLog('a'))[0]).toMatchObject({ attempt: 1, outcome: 'snooze', error: null });
});

it('a job of an unknown name goes back to its place in pending, and is as old as before', async () => {
  const q = await queueWith('a', 'b');
  await q.redis.hset(q.keys.job('a'), { ready_at_ms: 5 });
  const jobs = await q.claim(2);
  await q.run(q.scripts.release(jobs.map((job) => release(job, { reason: 'unhandled', name: 'ignored' }))));
  expect(await q.pending()).toEqual(['a', 'b']);
  expect(await q.job('a')).toMatchObject({ status: 'pending', attempts: '0', unhandled: '1', ready_at_ms: '5' });
  expect(await q.job('b')).not.toHaveProperty('ready_at_ms');
  expect(Number(await q.field('a', 'unhandled_at_ms'))).toBeGreaterThan(0);
  expect(await q.job('a')).toMatchObject({ name: q.name });
  expect(await q.job('a')).not.toHaveProperty('foreign');
});

it("a foreign producer's job gets the name that the worker found, and keeps the time of its first return", async () => {
  const q = await queueWith('a');
  await q.redis.hdel(q.keys.job('a'), 'name');
  for (let i = 0; i < 2; i++) {
    const [job] = await q.claim(1);
    await q.run(q.scripts.release([release(job!, { reason: 'unhandled', name: i === 0 ? 'fax' : 'other' })]));
    await q.redis.hset(q.keys.job('a'), { unhandled_at_ms: 7 });
  }
  expect(await q.job('a')).toMatchObject({ name: 'fax', foreign: '1', unhandled: '2', unhandled_at_ms: '7' });
});

it('ends a job that was asked to cancel', async () => {
  const { q, job } = await claimedJob('a');
  await q.run(q.scripts.cancel({ id: 'a' }));
  expect(await q.run(q.scripts.release([release(job)]))).toEqual(['cancelled']);
  expect(await q.redis.lrange(q.keys.cancelled, 0, -1)).toEqual(['a']);
});

it('I2: a wrong token, and a hash that is gone, are lost and change nothing', async () => {
  const q = await queueWith('a', 'gone');
  const [a, gone] = await q.claim(2);
  await q.redis.del(q.keys.job('gone'));
  const call = q.scripts.release([release(a!, { token: 'stale' }), release(gone!)]);
  expect(await expectUnchanged(q, () => q.run(call))).toEqual(['lost', 'lost']);
  q.broken = true; // until the sweep finds the claim of the job that is gone
});

it.each([
  ['rests', 'rate_limited', 'rate_limited', 'maxRateLimitRetries'],
  ['snoozes', 'snooze', 'snoozes', 'maxSnoozes'],
] as const)(
  'I3: beyond its %s the job fails once, and a redrive resets the count',
  async (_, reason, field, most) => {
    const q = testQueue();
    await q.run(q.scripts.limits.set({ groups: { maxRunning: 1, onDeadHead: 'hold' } }));
    const job = await q.addAndClaim('a', { group: 'g' });
    await q.redis.hset(q.keys.job('a'), field, 4);
    const end = () => q.run(q.scripts.release([{ ...job, reason, delayMs: 60_000, most: 4 }]));
    expect(await end()).toEqual(['failed']);
    expect(await expectUnchanged(q, end)).toEqual(['failed']);
    const last_error = expect.stringContaining(`more often than its ${most} of 4`);
    expect(await q.job('a')).toMatchObject({ status: 'failed', [field]: '5', attempts: '0', last_error });
    const [group] = await q.run(q.scripts.groups.named({ names: ['g'] }));
    expect(group).toMatchObject({ heldBy: 'a', running: 0 });
    if (reason === 'rate_limited') expect(Number(group!.opensAt) - (await q.now())).toBeGreaterThan(50_000);
    else expect(group!.opensAt).toBeNull();
    await q.run(q.scripts.deadLetters.redrive({ ids: ['a'] }));
    expect(await q.field('a', field)).toBeNull();
  },
);

it('takes a batch of none', async () => {
  const q = testQueue();
  expect(await expectUnchanged(q, () => q.run(q.scripts.release([])))).toEqual([]);
});

it('releases 500 in one call', async () => {
  const q = testQueue();
  const ids = Array.from({ length: 500 }, (_, i) => `job-${i}`);
  await q.addAll(...ids);
  const jobs = await q.claim(500);
  await q.run(q.scripts.release(jobs.map((job) => release(job))));
  expect(await q.pending()).toEqual(ids);
});

it.each([
  ['released', {}, {}],
  ['released', { delayMs: 60_000 }, {}],
  ['released', { reason: 'unhandled' as const }, {}],
  ['cancelled', {}, { cancel_requested_at_ms: 1 }],
])('I3: repeated after a lost reply it answers %s again and changes nothing', async (answer, rest, fields) => {
  const { q, job } = await claimedJob('a');
  if (Object.keys(fields).length > 0) await q.redis.hset(q.keys.job('a'), fields);
  const call = q.scripts.release([release(job, rest)]);
  expect(await q.run(call)).toEqual([answer]);
  expect(await expectUnchanged(q, () => q.run(call))).toEqual([answer]);
});

it('I3: a job twice in one batch is released once, with one answer', async () => {
  const q = await queueWith('a', 'b');
  const [a, b] = await q.claim(2);
  const answers = await q.run(q.scripts.release([release(a!), release(b!), release(a!)]));
  expect(answers).toEqual(['released', 'released', 'released']);
  expect(await q.pending()).toEqual(['a', 'b']);
  expect(await q.job('a')).toMatchObject({ attempts: '0', interruptions: '1' });
  expect(await q.total('released')).toBe(2);
});

it('I3: repeated after the job was claimed again it gives the first answer and changes nothing', async () => {
  const { q, job } = await claimedJob('a');
  const call = q.scripts.release([release(job)]);
  await q.run(call);
  await q.claim(1);
  expect(await expectUnchanged(q, () => q.run(call))).toEqual(['released']);
});
