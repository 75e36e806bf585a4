import { describe, expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, type TestQueue } from '../../support/queue-state.js';

const error = { name: 'Error', message: 'no' };

describe('complete.lua', () => {
  it('stores the result, ends the claim and gives the hash its time to live', async () => {
    const q = testQueue({ resultTtlMs: 60_000 });
    const job = await q.addAndClaim('a');
    expect(await q.run(q.scripts.complete([{ ...job, result: '{"sent":true}' }]))).toEqual([]);
    const hash = await q.job('a');
    expect(hash).toMatchObject({ status: 'completed', result: '{"sent":true}', claim_token: '' });
    expect(Math.abs(Number(hash.completed_at_ms) - (await q.now()))).toBeLessThan(5_000);
    expect(await q.redis.lrange(q.keys.completed, 0, -1)).toEqual(['a']);
    expect(await q.redis.zcard(q.keys.claims)).toBe(0);
    expect(await q.total('completed')).toBe(1);
    const ttl = await q.redis.pttl(q.keys.job('a'));
    expect(ttl).toBeGreaterThan(50_000);
    expect(ttl).toBeLessThanOrEqual(60_000);
  });

  it('stores no result where there is none, and takes the result TTL of the job', async () => {
    const q = testQueue();
    const job = await q.addAndClaim('a');
    await q.run(q.scripts.complete([{ ...job, result: '', resultTtlMs: 5_000 }]));
    expect(await q.job('a')).not.toHaveProperty('result');
    expect(await q.redis.pttl(q.keys.job('a'))).toBeLessThanOrEqual(5_000);
  });

  it('frees the unique keys of jobs that are kept for less time than the call takes', async () => {
    const q = testQueue();
    const added = Array.from({ length: 500 }, (_, i) => {
      const options = JSON.stringify({ unique: `key-${i}`, unique_for: 'unfinished' });
      return { id: `job-${i}`, name: 'mail', payload: '1', options };
    });
    await q.run(q.scripts.enqueue(added));
    const jobs = await q.claim(500);
    await q.run(q.scripts.complete(jobs.map((job) => ({ ...job, result: '', resultTtlMs: 1 }))));
    expect(await q.redis.hlen(q.keys.unique)).toBe(0);
  });

  it('takes a batch of none', async () => {
    const q = testQueue();
    expect(await expectUnchanged(q, () => q.run(q.scripts.complete([])))).toEqual([]);
  });

  it('settles 1,000 claims in one call, the newest first in the history', async () => {
    const q = testQueue();
    await q.addAll(...Array.from({ length: 1_000 }, (_, i) => `job-${i}`));
    const jobs = await q.claim(1_000);
    expect(await q.run(q.scripts.complete(jobs.map((job) => ({ ...job, result: '1' }))))).toEqual([]);
    expect(await q.redis.lrange(q.keys.completed, 0, 1)).toEqual(['job-999', 'job-998']);
    expect(await q.total('completed')).toBe(1_000);
    q.broken = true; // a check of each would take long
  });

  it('I2: a wrong token changes nothing and is named as lost, the others of the batch are settled', async () => {
    const q = testQueue();
    await q.addAll('a', 'b', 'c');
    const [a, b, c] = await q.claim(3);
    const stale = { ...b!, token: 'stale' };
    expect(await q.run(q.scripts.complete([a!, stale, c!].map((job) => ({ ...job, result: '' }))))).toEqual([1]);
    expect(await q.status('b')).toBe('processing');
    expect(await q.redis.lrange(q.keys.completed, 0, -1)).toEqual(['c', 'a']);
  });

  it('I2: an expired claim that nobody took back is still accepted', async () => {
    const q = testQueue();
    const job = await q.addAndClaim('a');
    await q.expireClaims('a');
    expect(await q.run(q.scripts.complete([{ ...job, result: '' }]))).toEqual([]);
    expect(await q.status('a')).toBe('completed');
  });

  it('I2: a claim that was taken back is lost, also when the job was claimed again', async () => {
    const q = testQueue();
    const job = await q.addAndClaim('a');
    await q.expireClaims('a');
    await q.run(q.scripts.reclaim(10, 1_000_000, 0));
    const done = q.scripts.complete([{ ...job, result: '' }]);
    expect(await expectUnchanged(q, () => q.run(done))).toEqual([0]);
    await q.claim(1);
    expect(await expectUnchanged(q, () => q.run(done))).toEqual([0]);
  });

  it('I7: a job whose hash is gone is lost, and comes not back', async () => {
    const q = testQueue();
    const job = await q.addAndClaim('a');
    await q.redis.del(q.keys.job('a'));
    expect(await expectUnchanged(q, () => q.run(q.scripts.complete([{ ...job, result: '' }])))).toEqual([0]);
    q.broken = true; // until the sweep finds the claim
  });

  it('I3: repeated after a lost reply it counts as done and changes nothing', async () => {
    const q = testQueue();
    const job = await q.addAndClaim('a');
    const done = q.scripts.complete([{ ...job, result: '1' }]);
    await q.run(done);
    expect(await expectUnchanged(q, () => q.run(done))).toEqual([]);
  });

  it('I3: a job twice in one batch is recorded once', async () => {
    const q = testQueue();
    const job = await q.addAndClaim('a');
    const done = { ...job, result: '1' };
    expect(await q.run(q.scripts.complete([done, done]))).toEqual([]);
    expect(await q.total('completed')).toBe(1);
  });

  it('I2: a fail or a complete after the job has completed is lost', async () => {
    const q = testQueue();
    const job = await q.addAndClaim('a');
    await q.run(q.scripts.complete([{ ...job, result: '1' }]));
    const failure = q.scripts.fail([{ ...job, error, final: false, backoffMs: 0 }]);
    expect(await expectUnchanged(q, () => q.run(failure))).toEqual(['lost']);
    const other = q.scripts.complete([{ ...job, token: '', fence: job.fence + 1, result: '2' }]);
    expect(await expectUnchanged(q, () => q.run(other))).toEqual([0]);
  });

  it('a complete that comes before the cancel is delivered wins', async () => {
    const q = testQueue();
    const job = await q.addAndClaim('a');
    await q.run(q.scripts.cancel('a'));
    expect(await q.run(q.scripts.complete([{ ...job, result: '' }]))).toEqual([]);
    expect(await q.status('a')).toBe('completed');
  });

  it('takes the error of an earlier attempt away, and keeps the record of it', async () => {
    const q = testQueue();
    const first = await q.addAndClaim('a');
    await q.run(q.scripts.fail([{ ...first, error, final: false, backoffMs: 0 }]));
    const [second] = await q.claim(1);
    await q.run(q.scripts.complete([{ ...second!, result: '' }]));
    const hash = await q.job('a');
    expect(hash).not.toHaveProperty('last_error');
    expect(hash).not.toHaveProperty('last_error_at_ms');
    expect(hash.attempt_log).toContain('"message":"no"');
  });

  it('frees its unique key', async () => {
    const q = testQueue();
    const job = await q.addAndClaim('a', { unique: 'k', unique_for: 'unfinished' });
    await q.run(q.scripts.complete([{ ...job, result: '' }]));
    expect(await q.redis.exists(q.keys.unique)).toBe(0);
  });

  it('frees only a unique key that is still its own', async () => {
    const q = testQueue();
    const job = await q.addAndClaim('a', { unique: 'k', unique_for: 'pending' });
    await q.add('b', { unique: 'k', unique_for: 'pending' });
    await q.run(q.scripts.complete([{ ...job, result: '' }]));
    expect(await q.redis.hget(q.keys.unique, 'k')).toBe('b');
  });
});

describe('complete.lua: history', () => {
  it('is cut at its cap; what falls off can be read for 10 s more', async () => {
    const q = testQueue({ completedHistory: 2 });
    await q.addAll('a', 'b', 'c');
    const jobs = await q.claim(3);
    await q.run(q.scripts.complete(jobs.map((job) => ({ ...job, result: '1' }))));
    expect(await q.redis.lrange(q.keys.completed, 0, -1)).toEqual(['c', 'b']);
    expect(await q.redis.pttl(q.keys.job('a'))).toBeLessThanOrEqual(10_000);
    expect(await q.field('a', 'result')).toBe('1');
    expect(await q.redis.pttl(q.keys.job('b'))).toBeGreaterThan(10_000);
  });

  it('of 0 keeps no id, and the result for 10 s', async () => {
    const q = testQueue({ completedHistory: 0 });
    const job = await q.addAndClaim('a');
    await q.run(q.scripts.complete([{ ...job, result: '1' }]));
    expect(await q.redis.llen(q.keys.completed)).toBe(0);
    expect(await q.redis.pttl(q.keys.job('a'))).toBeLessThanOrEqual(10_000);
    expect(await q.total('completed')).toBe(1);
  });

  it('I4: a lowered cap takes effect in bounded slices', async () => {
    const q = testQueue({ completedHistory: 5 });
    await q.redis.lpush(q.keys.completed, ...Array.from({ length: 300 }, (_, i) => `old-${i}`));
    const lengths: number[] = [];
    for (const id of ['a', 'b', 'c', 'd']) {
      const job = await q.addAndClaim(id);
      await q.run(q.scripts.complete([{ ...job, result: '' }]));
      lengths.push(await q.redis.llen(q.keys.completed));
    }
    expect(lengths).toEqual([199, 98, 5, 5]);
  });

  it('spares an id that is in use again', async () => {
    const q = testQueue({ completedHistory: 1 });
    await q.redis.lpush(q.keys.completed, 'again');
    await q.addAll('again', 'b');
    const [, b] = await q.claim(2);
    await q.run(q.scripts.complete([{ ...b!, result: '' }]));
    expect(await q.redis.pttl(q.keys.job('again'))).toBe(-1);
  });
});

/** Completes jobs one after another, each in a ms of its own. */
async function complete(q: TestQueue, cap: number, ids: string[], name = 'login'): Promise<void> {
  for (const id of ids) {
    const job = await q.addAndClaim(id);
    await q.run(q.scripts.complete([{ ...job, result: '1', history: { name, cap } }]));
    await passAMoment(q);
  }
}

async function passAMoment(q: TestQueue): Promise<void> {
  const now = await q.now();
  while ((await q.now()) === now);
}

function kept(q: TestQueue): Promise<string[]> {
  return q.redis.lrange(q.keys.completed, 0, -1);
}

describe("complete.lua: a handler's own history", () => {
  it('keeps the newest of its name, and all others; what falls off can be read for 10 s more', async () => {
    const q = testQueue();
    await complete(q, 2, ['a', 'b']);
    const plain = await q.addAndClaim('plain');
    await q.run(q.scripts.complete([{ ...plain, result: '1' }]));
    await complete(q, 1, ['x'], 'other');
    await complete(q, 2, ['c']);
    expect(await kept(q)).toEqual(['c', 'x', 'plain', 'b']);
    expect(await q.field('a', 'result')).toBe('1');
    expect(await q.redis.pttl(q.keys.job('a'))).toBeLessThanOrEqual(10_000);
    expect(await q.redis.pttl(q.keys.job('b'))).toBeGreaterThan(10_000);
  });

  it.each([
    ['a', 'a b'],
    ['a', 'a" 1760000000000 x'],
    ['"', '" '],
    ['\n', '\n\n'],
    ['ü', 'üü'],
  ])('of %j and %j are two', async (one, other) => {
    const q = testQueue();
    await complete(q, 1, ['1', '2'], one);
    await complete(q, 1, ['3', '4'], other);
    await complete(q, 1, ['5'], one);
    expect(await kept(q)).toEqual(['5', '4']);
    expect(await q.redis.zcard(q.keys.histories)).toBe(2);
  });

  it('takes a batch', async () => {
    const q = testQueue();
    await q.addAll('a', 'b', 'c');
    const history = { name: q.name, cap: 1 };
    const [a, b, c] = await q.claim(3);
    const done = [{ ...a!, history }, b!, { ...c!, history }].map((job) => ({ ...job, result: '' }));
    expect(await q.run(q.scripts.complete(done))).toEqual([]);
    expect(await kept(q)).toEqual(['c', 'b']);
  });

  it('of 0 keeps no id, and the result for 10 s', async () => {
    const q = testQueue();
    await complete(q, 0, ['a']);
    expect(await kept(q)).toEqual([]);
    expect(await q.redis.pttl(q.keys.job('a'))).toBeLessThanOrEqual(10_000);
    expect(await q.redis.exists(q.keys.histories)).toBe(0);
  });

  it('frees the unique key of its jobs too', async () => {
    const q = testQueue();
    const job = await q.addAndClaim('a', { unique: 'k', unique_for: 'unfinished' });
    await q.run(q.scripts.complete([{ ...job, result: '', history: { name: q.name, cap: 1 } }]));
    expect(await q.redis.exists(q.keys.unique)).toBe(0);
  });

  it('I3: a repeat changes nothing; I2: nor does a claim that was lost', async () => {
    const q = testQueue();
    await complete(q, 1, ['a']);
    const job = await q.addAndClaim('b');
    const done = { ...job, result: '1', history: { name: 'login', cap: 1 } };
    await expectUnchanged(q, () => q.run(q.scripts.complete([{ ...done, token: 'stale' }])));
    await q.run(q.scripts.complete([done]));
    expect(await expectUnchanged(q, () => q.run(q.scripts.complete([done])))).toEqual([]);
  });

  it('spares an id that is in use again, or has completed again', async () => {
    const q = testQueue();
    await complete(q, 2, ['again', 'twice']);
    await q.redis.del(q.keys.job('again'), q.keys.job('twice'), q.keys.completed);
    await q.add('again', { delay_ms: 60_000 });
    const twice = await q.addAndClaim('twice');
    await q.run(q.scripts.complete([{ ...twice, result: '' }]));
    await complete(q, 2, ['b', 'c']);
    expect(await kept(q)).toEqual(['c', 'b', 'twice']);
    expect(await q.redis.pttl(q.keys.job('again'))).toBe(-1);
    expect(await q.redis.pttl(q.keys.job('twice'))).toBeGreaterThan(10_000);
  });

  it('I4: a lowered cap takes effect in bounded slices', async () => {
    const q = testQueue();
    const old = Array.from({ length: 150 }, (_, i) => ['0', `"login" 1700000000${100 + i} old-${i}`]);
    await q.redis.zadd(q.keys.histories, ...old.flat());
    await complete(q, 3, ['a']);
    expect(await q.redis.zcard(q.keys.histories)).toBe(51);
    await complete(q, 3, ['b']);
    expect(await q.ranked(q.keys.histories)).toEqual(
      ['old-149', 'a', 'b'].map((id) => expect.stringMatching(new RegExp(`^"login" \\d{13} ${id}$`))),
    );
  });

  it('is not there for jobs without one', async () => {
    const q = testQueue();
    const job = await q.addAndClaim('a', { priority: 1 });
    await q.run(q.scripts.complete([{ ...job, result: '' }]));
    expect(await q.redis.exists(q.keys.histories)).toBe(0);
  });
});
