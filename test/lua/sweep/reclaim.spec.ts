import { describe, expect, it } from '@jest/globals';
import { testQueue, type TestQueue, queueWith, claimedJob } from '../../support/queue/queue-state.js';

const NO_GAP = Number.MAX_SAFE_INTEGER;

function sweep(q: TestQueue, limit = 500, gapMs = NO_GAP, waitMs = 0) {
  return q.run(q.scripts.sweep.reclaim({ limit, gapMs, waitMs }));
}

/** Claims the job and lets the claim expire. */
async function crash(q: TestQueue, id: string): Promise<void> {
  await q.claim(1);
  await q.expireClaims(id);
}

describe('sweep/reclaim.lua', () => {
  it('I2: takes an expired claim back: no token, a higher fence, the crash counted', async () => {
    const { q, job } = await claimedJob('a');
    await q.expireClaims('a');
    await q.takeWake();
    expect(await sweep(q)).toEqual({
      reclaimed: [{ id: 'a', status: 'pending', worker: 'worker-1' }],
      more: false,
    });
    const hash = await q.job('a');
    expect(hash).toMatchObject({
      status: 'pending',
      attempts: '1',
      crashes: '1',
      claim_token: '',
      claimed_at_ms: '0',
    });
    expect(Number(hash.fence)).toBeGreaterThan(job.fence);
    expect(Math.abs(Number(hash.reclaimed_at_ms) - (await q.now()))).toBeLessThan(5_000);
    expect(await q.pending()).toEqual(['a']);
    expect(await q.total('reclaimed')).toBe(1);
    expect(await q.takeWake()).toBe(true);
    expect((await q.attemptLog('a'))[0]).toMatchObject({ attempt: 1, outcome: 'crash', worker: 'worker-1' });
  });

  it('leaves live claims alone', async () => {
    const q = await queueWith('a', 'b');
    await q.claim(2);
    await q.expireClaims('a');
    await sweep(q);
    expect(await q.ranked(q.keys.claims)).toEqual(['b']);
    expect(await q.status('b')).toBe('processing');
  });

  it('makes a dead letter of its own of each claim whose id is longer than any, and of no other claim', async () => {
    const q = testQueue();
    q.broken = true; // no library has made such jobs
    const [one, longest, two] = ['i', 'j', 'k'].map((letter) => letter.repeat(letter === 'j' ? 1_024 : 1_025));
    for (const id of [one!, longest!, two!]) {
      const status = 'processing';
      await q.redis.hset(q.keys.job(id), { name: q.name, payload: `"${id[0]}"`, status, attempts: 1 });
      await q.redis.zadd(q.keys.claims, 1, id);
    }
    expect((await sweep(q)).reclaimed).toMatchObject([{ id: longest, status: 'pending' }]);
    const letters = await q.ranked(q.keys.dead);
    const payloads = await Promise.all(letters.map((id) => q.field(id, 'payload')));
    expect(new Set(payloads)).toEqual(new Set(['"i"', '"k"']));
    expect(await q.total('failed')).toBe(2);
  });

  it('returns none on an empty queue, and wakes no worker', async () => {
    const q = testQueue();
    expect(await sweep(q)).toEqual({ reclaimed: [], more: false });
    expect(await q.takeWake()).toBe(false);
  });

  it('I3: repeated it takes nothing back twice', async () => {
    const q = testQueue();
    await q.addAndClaim('a');
    await q.expireClaims('a');
    await sweep(q);
    expect(await sweep(q)).toEqual({ reclaimed: [], more: false });
    expect(await q.field('a', 'crashes')).toBe('1');
  });

  it('I8: puts the jobs back at the front in their old order', async () => {
    const q = await queueWith('a', 'b', 'c', 'd');
    await q.claim(3);
    await q.expireClaims('c', 'a', 'b');
    await sweep(q);
    expect(await q.pending()).toEqual(['a', 'b', 'c', 'd']);
  });

  it('I4, I8: moves a bounded slice at a time, says whether more is due, and keeps the order across slices', async () => {
    const q = await queueWith('a', 'b', 'c', 'd', 'e');
    for (const id of ['a', 'b', 'c', 'd']) await q.claim(1, { token: id });
    await q.expireClaims('a', 'b', 'c', 'd');
    expect((await sweep(q, 2)).more).toBe(true);
    expect(await q.redis.zcard(q.keys.claims)).toBe(2);
    await sweep(q, 2);
    expect(await sweep(q, 2)).toEqual({ reclaimed: [], more: false });
    expect(await q.pending()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('puts a prioritized job back into its old place', async () => {
    const q = testQueue();
    for (const id of ['a', 'b']) await q.add(id, { priority: 5 });
    await crash(q, 'a');
    await sweep(q);
    expect(await q.ranked(q.keys.prioritized)).toEqual(['a', 'b']);
  });

  it('I6: a crash is an attempt: the last one ends as a dead letter with the reason', async () => {
    const q = testQueue({ maxAttempts: 2, maxCrashes: 9 });
    await q.addAll('a');
    await crash(q, 'a');
    await sweep(q);
    await crash(q, 'a');
    expect((await sweep(q)).reclaimed).toEqual([{ id: 'a', status: 'failed', worker: 'worker-1' }]);
    expect(await q.ranked(q.keys.dead)).toEqual(['a']);
    expect(await q.field('a', 'last_error')).toBe(
      `claim expired (worker worker-1) on attempt 2 (maxAttempts 2); its name is "${q.name}"`,
    );
    expect(await q.total('failed')).toBe(1);
  });

  it('a job that keeps crashing its worker is failed, whatever attempts are left', async () => {
    const q = testQueue({ maxAttempts: 100, maxCrashes: 2 });
    await q.addAll('a');
    await crash(q, 'a');
    await sweep(q);
    await crash(q, 'a');
    expect((await sweep(q)).reclaimed).toEqual([{ id: 'a', status: 'failed', worker: 'worker-1' }]);
    expect(await q.field('a', 'last_error')).toContain('its worker died 2 times while it ran (maxCrashes 2)');
    expect(await q.job('a')).toMatchObject({ crashes: '2' });
  });

  it('goes by the policy in the job, not by that of the sweeping replica', async () => {
    const claimer = testQueue({ maxAttempts: 1 });
    await claimer.addAndClaim('a');
    await claimer.expireClaims('a');
    expect((await sweep(claimer)).reclaimed).toEqual([{ id: 'a', status: 'failed', worker: 'worker-1' }]);
  });

  it('ends a job that was asked to cancel', async () => {
    const q = testQueue();
    await q.addAndClaim('a');
    await q.run(q.scripts.cancel({ id: 'a' }));
    await q.expireClaims('a');
    expect((await sweep(q)).reclaimed).toEqual([{ id: 'a', status: 'cancelled', worker: 'worker-1' }]);
    expect(await q.redis.lrange(q.keys.cancelled, 0, -1)).toEqual(['a']);
  });

  it('I7: a hash that is gone becomes a dead letter that says so, and is counted', async () => {
    const q = await queueWith('gone', 'next');
    await q.claim(2);
    await q.redis.del(q.keys.job('gone'));
    await q.expireClaims('gone', 'next');
    expect((await sweep(q)).reclaimed.map(({ id, status }) => [id, status])).toEqual(
      expect.arrayContaining([
        ['gone', 'failed'],
        ['next', 'pending'],
      ]),
    );
    expect(await q.field('gone', 'last_error')).toMatch(/hash is missing/);
    expect(await q.total('broken')).toBe(1);
  });

  it('forgets a claim whose job has another state already', async () => {
    const q = await queueWith('a');
    await q.redis.zadd(q.keys.claims, 1, 'a');
    expect(await sweep(q)).toEqual({ reclaimed: [], more: false });
    const job = await q.job('a');
    expect([job.status, job.attempts]).toEqual(['pending', undefined]);
  });

  it('I7: nonsensical policy fields lose no job', async () => {
    const q = await queueWith('bad', 'next');
    await q.claim(2);
    await q.redis.hset(q.keys.job('bad'), { max_crashes: 'x', max_attempts: 'y', attempts: 'z' });
    await q.expireClaims('bad', 'next');
    expect((await sweep(q)).reclaimed).toHaveLength(2);
  });
});

describe('sweep/reclaim.lua: after an outage of the server', () => {
  it('waits for a heartbeat before it takes anything, then takes', async () => {
    const q = testQueue();
    await q.addAndClaim('a');
    await q.expireClaims('a');
    await q.redis.hset(q.keys.sweep, 'last_run_at_ms', (await q.now()) - 100_000);
    expect(await sweep(q, 10, 50_000, 30_000)).toEqual({ reclaimed: [], more: false });
    const { hold_until_ms } = await q.redis.hgetall(q.keys.sweep);
    expect(Number(hold_until_ms)).toBeGreaterThan((await q.now()) + 20_000);
    expect((await sweep(q, 10, 50_000, 30_000)).reclaimed).toEqual([]);
    await q.redis.hset(q.keys.sweep, 'hold_until_ms', (await q.now()) - 1);
    expect((await sweep(q, 10, 50_000, 30_000)).reclaimed).toHaveLength(1);
  });

  it('I2: waits where the server went away before the first sweep, since a worker had come before', async () => {
    const q = testQueue();
    await q.run(q.scripts.workers.register({ worker: 'w1', serves: true }));
    await q.addAndClaim('a');
    await q.expireClaims('a');
    const came = Number(await q.redis.hget(q.keys.sweep, 'last_run_at_ms'));
    // Where nothing was written, as much later there is nothing to see either.
    if (came > 0) await q.redis.hset(q.keys.sweep, 'last_run_at_ms', came - 100_000);
    expect(await sweep(q, 10, 50_000, 30_000)).toEqual({ reclaimed: [], more: false });
    expect(await q.status('a')).toBe('processing');
  });

  it('waits for a heartbeat of the workers, whatever the visibility timeout of who sweeps', async () => {
    const q = testQueue({ visibilityMs: 600_000 });
    await q.run(q.scripts.workers.register({ worker: 'w1', serves: true }));
    await q.redis.hset(q.keys.sweep, 'last_run_at_ms', 1);
    await sweep(q, 10, 50_000, 10_000);
    const holdUntil = Number(await q.redis.hget(q.keys.sweep, 'hold_until_ms'));
    expect(holdUntil).toBeGreaterThan((await q.now()) + 190_000);
    expect(holdUntil).toBeLessThanOrEqual((await q.now()) + 202_500);
  });

  it('does not wait at the first run, or without a gap', async () => {
    const q = testQueue();
    await q.addAndClaim('a');
    await q.expireClaims('a');
    expect((await sweep(q, 10, 50_000, 30_000)).reclaimed).toHaveLength(1);
    await crash(q, 'a');
    expect((await sweep(q, 10, 50_000, 30_000)).reclaimed).toHaveLength(1);
  });

  it('does not wait where unbroken looks show that the server was there', async () => {
    const q = testQueue();
    const swept = async (fromMs: number, toMs: number) => {
      await q.addAndClaim('a');
      await q.expireClaims('a');
      const now = await q.now();
      await q.redis.hset(q.keys.sweep, { last_run_at_ms: now - 100_000, hold_until_ms: 0, holds: 0 });
      const watched = { fromMs: now + fromMs, toMs: now + toMs };
      const { reclaimed } = await q.run(
        q.scripts.sweep.reclaim({ limit: 10, gapMs: 50_000, waitMs: 30_000, everyMs: 5_000, watched }),
      );
      await q.run(q.scripts.purge({ limit: 100 }));
      return reclaimed.length;
    };
    expect(await swept(-40_000, -1)).toBe(1);
    expect(await swept(-20_000, -1)).toBe(0); // shorter than a heartbeat
    expect(await swept(-200_000, -60_000)).toBe(0); // away since then, or its clock has jumped ahead
    expect(await swept(-40_000, 60_000)).toBe(0); // the clock has jumped back
  });

  it.each([
    [0, 0],
    [12_000, 0],
    [13_000, 1],
  ])(
    'waits after an outage that the caller met %i ms ago, also without a gap',
    async (sinceOutageMs, reclaimed) => {
      const q = testQueue();
      await q.addAndClaim('a');
      await q.expireClaims('a');
      const now = await q.now();
      await q.redis.hset(q.keys.sweep, 'last_run_at_ms', now - 1_000);
      const watched = { fromMs: now - 100_000, toMs: now, sinceOutageMs };
      const reply = await q.run(
        q.scripts.sweep.reclaim({ limit: 10, gapMs: 50_000, waitMs: 10_000, everyMs: 5_000, watched }),
      );
      expect(reply.reclaimed).toHaveLength(reclaimed);
    },
  );

  it('I2: a claim that its worker extends meanwhile survives', async () => {
    const { q, job } = await claimedJob('a');
    await q.expireClaims('a');
    await q.redis.hset(q.keys.sweep, 'last_run_at_ms', 1);
    await sweep(q, 10, 50_000, 30_000);
    await q.run(q.scripts.extend([job]));
    await q.redis.hset(q.keys.sweep, 'hold_until_ms', 0);
    expect((await sweep(q, 10, 50_000, 30_000)).reclaimed).toEqual([]);
    expect(await q.field('a', 'claim_token')).toBe(job.token);
  });
});

it('a completion of which a restarted server applied all but the end is in the history once, and counted once', async () => {
  const { q, job } = await claimedJob('a');
  await q.complete(job);
  await q.redis.zadd(q.keys.claims, 1, 'a');
  await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1_000_000, waitMs: 0 }));
  expect(await q.redis.lrange(q.keys.completed, 0, -1)).toEqual(['a']);
  expect(await q.total('completed')).toBe(1);
  expect(await q.redis.zcard(q.keys.claims)).toBe(0);
});
