import { describe, expect, it } from '@jest/globals';
import type { RefusedJob } from '#queue/model/job.js';
import { expectUnchanged, testQueue, queueWith, claimedJob } from '../../support/queue/queue-state.js';
import { hasCommand } from '../../support/memory/commands.js';

describe('attempt/claim.lua', () => {
  it('gives token, fence, attempt, owner and expiry in the same step', async () => {
    const q = testQueue({ visibilityMs: 30_000 });
    await q.add('a', {}, '{"to":"ada"}');
    const before = await q.now();
    const [job] = await q.claim(1, { token: 't1', worker: 'w1' });
    expect(job).toMatchObject({
      id: 'a',
      name: q.name,
      payload: { to: 'ada' },
      attempt: 1,
      maxAttempts: 3,
      token: 't1',
    });
    expect(await q.job('a')).toMatchObject({
      status: 'processing',
      attempts: '1',
      claim_token: 't1',
      worker: 'w1',
      claimed_at_ms: String(job!.claimedAtMs),
      fence: String(job!.fence),
    });
    const expiry = Number(await q.redis.zscore(q.keys.claims, 'a'));
    expect(expiry).toBe(job!.claimedAtMs + 30_000);
    expect(job!.claimedAtMs).toBeGreaterThanOrEqual(before);
  });

  it('I8: hands out the oldest first', async () => {
    const q = await queueWith('a', 'b', 'c');
    expect((await q.claim(2)).map((job) => job.id)).toEqual(['a', 'b']);
    expect((await q.claim(2)).map((job) => job.id)).toEqual(['c']);
  });

  if (hasCommand('OBJECT')) {
    it.each([
      [7, /^(?:listpack|ziplist)$/],
      [8, /^skiplist$/],
    ])('keeps the claims of %i jobs at once in a set that is fast for so many', async (count, encoding) => {
      const q = testQueue();
      const ids = Array.from({ length: count }, (_, i) => `job-${i}`);
      await q.addAll(...ids);
      await q.claim(count);
      expect(await q.redis.object('ENCODING', q.keys.claims)).toMatch(encoding);
      expect(await q.redis.zrange(q.keys.claims, '-inf', '+inf', 'BYSCORE')).toEqual(ids);
    });
  }

  it('answers none on an empty queue and writes nothing', async () => {
    const q = testQueue();
    const answer = await expectUnchanged(q, () => q.run(q.claimCall(10)));
    expect(answer).toEqual({
      jobs: [],
      refused: [],
      nextDueInMs: undefined,
      isFull: false,
      isUnannounced: false,
      isLimited: false,
      awaitsSlots: false,
    });
  });

  it('raises the fence with every claim, also of another job', async () => {
    const q = await queueWith('a', 'b', 'c');
    const fences = [...(await q.claim(2)), ...(await q.claim(1))].map((job) => job.fence);
    expect(fences).toEqual([...fences].toSorted((a, b) => a - b));
    expect(new Set(fences).size).toBe(3);
  });

  it('returns the name and the fence of each job of a batch, the first time and repeated', async () => {
    const q = testQueue();
    const names: Record<string, string> = {
      a: 'x',
      b: 'x',
      c: '',
      d: '',
      ended: 'x',
      e: 'y',
      retried: 'y',
      f: 'x',
      g: '',
    };
    for (const [id, name] of Object.entries(names)) {
      await q.run(q.scripts.enqueue([{ id, name: name || 'gone', payload: '{}' }]));
      await (name ? undefined : q.redis.hdel(q.keys.job(id), 'name'));
    }
    await q.redis.hset(q.keys.job('ended'), { status: 'completed', attempts: 1 });
    await q.redis.hset(q.keys.job('retried'), { attempts: 1 });
    const expected = Object.entries(names).flatMap(([id, name]) =>
      id === 'ended' ? [] : [[id, name || q.name, !name]],
    );
    for (const token of ['t1', 't1']) {
      const jobs = await q.claim(20, { token });
      expect(jobs.map(({ id, name, nameless }) => [id, name, nameless])).toEqual(expected);
      const stored = await Promise.all(jobs.map(({ id }) => q.redis.hget(q.keys.job(id), 'fence')));
      expect(jobs.map(({ fence }) => String(fence))).toEqual(stored);
      expect(new Set(stored).size).toBe(expected.length);
    }
    q.broken = true; // a job that has ended, in pending
  });

  it('knows each handler that has a limit of its own', async () => {
    const q = await queueWith('a', 'used-up', 'b');
    await q.redis.hset(q.keys.job('used-up'), 'attempts', 2);
    const attemptLimits = [
      { name: 'other', maxAttempts: 9, maxCrashes: 9 },
      { name: q.name, maxAttempts: 2, maxCrashes: 2 },
    ];
    const { jobs, refused } = await q.run(q.claimCall(5, { attemptLimits }));
    expect(refused.map((job) => [job.id, job.error.name])).toEqual([['used-up', 'AttemptsExhausted']]);
    expect(jobs.map((job) => [job.id, job.maxAttempts])).toEqual([
      ['a', 2],
      ['b', 2],
    ]);
  });

  it('takes 1,000 jobs in one call', async () => {
    const q = await queueWith(...Array.from({ length: 1_001 }, (_, i) => `job-${i}`));
    expect(await q.claim(1_000)).toHaveLength(1_000);
    expect(await q.pending()).toEqual(['job-1000']);
    q.broken = true; // a check of each would take long
  });

  it('sets the wake marker again where it leaves work behind, and only there', async () => {
    const q = await queueWith('a', 'b', 'c');
    await q.takeWake();
    await q.claim(2);
    expect(await q.takeWake()).toBe(true);
    await q.claim(1);
    expect(await q.takeWake()).toBe(false);
  });

  it('hands out no job and wakes no worker while the queue is paused', async () => {
    const q = await queueWith('a');
    await q.run(q.scripts.pause());
    await q.takeWake();
    expect(await expectUnchanged(q, () => q.claim(1))).toEqual([]);
    await q.run(q.scripts.resume());
    expect(await q.claim(1)).toHaveLength(1);
  });

  it.each(['nan', '-inf', '-5'])(
    'I6: counts attempts of %s, which a foreign client wrote, from none',
    async (attempts) => {
      const q = await queueWith('a');
      await q.redis.hset(q.keys.job('a'), 'attempts', attempts);
      expect((await q.claim(1))[0]!.attempt).toBe(1);
      expect(await q.job('a')).toMatchObject({ attempts: '1' });
    },
  );

  it('hands out the limit of the job, else of the queue', async () => {
    const q = testQueue({ maxAttempts: 5 });
    await q.addAll('plain');
    await q.add('own', { max_attempts: 9, worker: '{"maxAttempts":9}' });
    const attemptLimits = [{ name: 'other', maxAttempts: 1, maxCrashes: 1 }];
    expect((await q.claim(2, { attemptLimits })).map((job) => job.maxAttempts)).toEqual([5, 9]);
  });

  it('prefers the policy of the job name', async () => {
    const q = await queueWith('a');
    const attemptLimits = [
      { name: 'other', maxAttempts: 1, maxCrashes: 1 },
      { name: q.name, maxAttempts: 7, maxCrashes: 6 },
    ];
    expect((await q.claim(1, { attemptLimits }))[0]!.maxAttempts).toBe(7);
  });
});

/** Returns a refusal without the job, whose place in the claim differs. */
const settled = ({ id, token, fence, error }: RefusedJob) => ({ id, token, fence, error });

describe('attempt/claim.lua: repeated after a lost reply', () => {
  it('I7: hands out the whole batch again, also where another client has spoilt numbers of a job meanwhile', async () => {
    const q = await queueWith('a', 'b', 'c', 'd');
    await q.claim(4, { token: 't1' });
    await q.redis.hset(q.keys.job('b'), 'attempts', 'abc');
    await q.redis.hdel(q.keys.job('c'), 'fence');
    expect((await q.claim(4, { token: 't1' })).map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd']);
    q.broken = true; // a fence that is gone
  });

  it('I3: the same token gets the same jobs and changes nothing', async () => {
    const q = await queueWith('a', 'b', 'c');
    const first = await q.claim(2, { token: 't1' });
    const second = await expectUnchanged(q, () => q.claim(2, { token: 't1' }));
    expect(second.map((job) => ({ ...job, claimedAtMs: 0 }))).toEqual(
      first.map((job) => ({ ...job, claimedAtMs: 0 })),
    );
  });

  it.each([{ maxRunning: 2 }, { rateLimit: { limit: 1_000, periodMs: 1_000 } }])(
    'says also then, and while the queue is paused, that it has limits: %j',
    async (limits) => {
      const q = testQueue();
      await q.run(q.scripts.limits.set(limits));
      await q.addAll('a', 'b');
      expect(await q.run(q.claimCall(1, { token: 't1' }))).toMatchObject({ isLimited: true });
      const repeated = await q.run(q.claimCall(1, { token: 't1' }));
      expect(repeated).toMatchObject({ jobs: [{ id: 'a' }], isLimited: true });
      await q.run(q.scripts.pause({}));
      expect(await q.run(q.claimCall(1))).toMatchObject({ jobs: [], isLimited: true });
    },
  );

  it('I3: a refusal is repeated too', async () => {
    const q = await queueWith('a', 'b');
    await q.redis.hset(q.keys.job('a'), { expires_at_ms: 1, options: '{}' });
    const first = await q.run(q.claimCall(2, { token: 't1' }));
    const second = await expectUnchanged(q, () => q.run(q.claimCall(2, { token: 't1' })));
    expect(second.refused.map(settled)).toEqual(first.refused.map(settled));
    expect(second.jobs.map((job) => job.id)).toEqual(['b']);
  });

  it('I2: leaves out a job that this token no longer claims', async () => {
    const q = await queueWith('a', 'b', 'c', 'd');
    const [a] = await q.claim(3, { token: 't1' });
    await q.complete(a!);
    await q.expireClaims('b');
    await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1_000_000, waitMs: 0 }));
    expect((await q.claim(3, { token: 't1' })).map((job) => job.id)).toEqual(['c']);
  });

  it('each stream of a worker has a memory of its own', async () => {
    const q = await queueWith('a', 'b');
    await q.claim(1, { token: 't1', stream: '0' });
    await q.claim(1, { token: 't2', stream: '1' });
    expect((await q.claim(1, { token: 't1', stream: '0' })).map((job) => job.id)).toEqual(['a']);
  });

  it('forgets the batch when its claims are over', async () => {
    const q = testQueue({ visibilityMs: 20_000 });
    await q.addAndClaim('a');
    const ttl = await q.redis.pttl(q.keys.batch('worker-1:0'));
    expect(ttl).toBeGreaterThan(10_000);
    expect(ttl).toBeLessThanOrEqual(20_000);
  });
});

describe('attempt/claim.lua: jobs that must not run', () => {
  it('I7: sets aside a job whose hash is gone, counts it, and hands out the next', async () => {
    const q = await queueWith('gone', 'next');
    await q.redis.del(q.keys.job('gone'));
    const { jobs, refused } = await q.run(q.claimCall(2));
    expect(jobs.map((job) => job.id)).toEqual(['next']);
    expect(refused.map((job) => job.id)).toEqual(['gone']);
    expect(refused[0]!.error.message).toMatch(/hash is missing/);
    await q.run(q.scripts.fail(refused.map((job) => ({ ...job, final: true, backoffMs: 0 }))));
    expect(await q.ranked(q.keys.dead)).toEqual(['gone']);
    expect(await q.job('gone')).toMatchObject({
      status: 'failed',
      last_error: refused[0]!.error.message,
    });
    expect(await q.total('broken')).toBe(1);
  });

  it.each([
    ['is cancelled', { cancel_requested_at_ms: 1, attempts: 1 }, 'JobCancelled'],
    ['has expired', { expires_at_ms: 1, options: '{}' }, 'JobExpired'],
    ['has no attempts left', { attempts: 3 }, 'AttemptsExhausted'],
    ['has a payload that is not JSON', { payload: '{oops' }, 'BrokenJob'],
    ['has options that are not JSON', { options: '{oops' }, 'BrokenJob'],
  ])('refuses a job that %s, and hands out the next', async (_what, fields, name) => {
    const q = await queueWith('bad', 'next');
    await q.redis.hset(q.keys.job('bad'), fields);
    const { jobs, refused } = await q.run(q.claimCall(2));
    expect(jobs.map((job) => job.id)).toEqual(['next']);
    expect(refused.map((job) => job.error.name)).toEqual([name]);
    await q.run(q.scripts.fail(refused.map((job) => ({ ...job, final: true, backoffMs: 0 }))));
    const ended = name === 'JobCancelled' ? 'cancelled' : 'failed';
    expect(await q.job('bad')).toMatchObject({ status: ended, last_error: refused[0]!.error.message });
  });

  it.each(['completed', 'failed', 'cancelled'])(
    'skips an id that is in pending although its job is %s',
    async (status) => {
      const { q, job } = await claimedJob('twice');
      if (status === 'completed') await q.complete(job, '1');
      else await q.fail(job, { final: true });
      if (status === 'cancelled') await q.redis.hset(q.keys.job('twice'), { status });
      q.broken = true;
      await q.redis.rpush(q.keys.pending, 'twice');
      await q.addAll('next');
      expect((await q.claim(2)).map(({ id }) => id)).toEqual(['next']);
      expect(await q.status('twice')).toBe(status);
      await q.redis.lpush(q.keys.pending, 'twice');
      expect(await q.claim(1)).toEqual([]);
    },
  );

  it('I6: counts no attempt for a refusal', async () => {
    const q = await queueWith('late');
    await q.redis.hset(q.keys.job('late'), { expires_at_ms: 1, options: '{}' });
    await q.claim(1);
    expect(await q.field('late', 'attempts')).toBe('0');
  });

  it.each(
    ['max_attempts', 'expires_at_ms', 'attempts'].flatMap((field) => [
      [field, 'nonsense'],
      [field, 'inf'],
    ]),
  )('I7: a nonsensical %s (%s) loses no job of the batch', async (field, value) => {
    const q = await queueWith('bad', 'next');
    await q.redis.hset(q.keys.job('bad'), field, value);
    q.broken = value === 'inf'; // which no integer says
    expect((await q.claim(2)).map((job) => job.id)).toContain('next');
  });
});
