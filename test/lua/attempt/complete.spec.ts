import { describe, expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, queueWith, claimedJob } from '../../support/queue/queue-state.js';

const error = { name: 'Error', message: 'no' };

describe('attempt/complete.lua', () => {
  it('stores the result, ends the claim and gives the hash its time to live', async () => {
    const q = testQueue({ resultTtlMs: 60_000 });
    const job = await q.addAndClaim('a');
    expect((await q.complete(job, '{"sent":true}')).lost).toEqual([]);
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
    const { q, job } = await claimedJob('a');
    await q.run(q.scripts.complete([{ ...job, result: '', resultTtlMs: 5_000 }]));
    expect(await q.job('a')).not.toHaveProperty('result');
    expect(await q.redis.pttl(q.keys.job('a'))).toBeLessThanOrEqual(5_000);
  });

  it('ends each job of a call by its own kind: plain, unique, lost or short-lived', async () => {
    const q = testQueue({ resultTtlMs: 600_000 });
    await q.addAll('plain', 'lost', 'short');
    const first = await q.claim(3);
    await q.add('unique', { unique: 'key', unique_for: 'unfinished' });
    await q.add('plain-too');
    const second = await q.claim(2);
    const [plain, , short] = first.map((job) => ({ ...job, result: '' }));
    const [unique, plainToo] = second.map((job) => ({ ...job, result: '"done"' }));
    const lost = { ...first[1]!, token: 'stale', result: '' };
    const ends = [plain!, lost, { ...short!, resultTtlMs: 50_000 }, { ...unique!, resultTtlMs: 70_000 }, plainToo!];
    expect((await q.run(q.scripts.complete(ends))).lost).toEqual([1]);
    const left = await Promise.all(ends.map(({ id }) => q.redis.pttl(q.keys.job(id))));
    expect(left.map((ms) => Math.max(0, Math.ceil(ms / 10_000)))).toEqual([60, 0, 5, 7, 60]);
    expect(await q.redis.hlen(q.keys.unique)).toBe(0);
    expect(await q.redis.lrange(q.keys.completed, 0, -1)).toEqual(['plain-too', 'unique', 'short', 'plain']);
    expect(await q.redis.zrange(q.keys.claims, 0, '-1')).toEqual(['lost']);
  });

  it('replies nothing, not even an empty list, where no claim was lost', async () => {
    const q = testQueue();
    const call = q.scripts.complete([{ ...(await q.addAndClaim('a')), result: '' }]);
    expect(await q.run({ ...call, decode: (reply) => reply })).toBeNull();
    expect((await q.run(call)).lost).toEqual([]);
  });

  it('completes also while the queue is paused', async () => {
    const { q, job } = await claimedJob('a');
    await q.run(q.scripts.pause());
    expect((await q.complete(job)).lost).toEqual([]);
    expect(await q.status('a')).toBe('completed');
  });

  it('frees the unique keys of jobs that are kept for less time than the call takes', async () => {
    const q = testQueue();
    const added = Array.from({ length: 500 }, (_, i) => {
      const options = { unique: { key: `key-${i}`, for: 'unfinished' as const } };
      return { id: `job-${i}`, name: 'mail', payload: '1', options };
    });
    await q.run(q.scripts.enqueue(added));
    const jobs = await q.claim(500);
    await q.run(q.scripts.complete(jobs.map((job) => ({ ...job, result: '', resultTtlMs: 1 }))));
    expect(await q.redis.hlen(q.keys.unique)).toBe(0);
  });

  it('takes a batch of none', async () => {
    const q = testQueue();
    expect((await expectUnchanged(q, () => q.run(q.scripts.complete([])))).lost).toEqual([]);
  });

  it('settles 1,000 claims in one call, the newest first in the history', async () => {
    const q = await queueWith(...Array.from({ length: 1_000 }, (_, i) => `job-${i}`));
    const jobs = await q.claim(1_000);
    expect((await q.run(q.scripts.complete(jobs.map((job) => ({ ...job, result: '1' }))))).lost).toEqual([]);
    expect(await q.redis.lrange(q.keys.completed, 0, 1)).toEqual(['job-999', 'job-998']);
    expect(await q.total('completed')).toBe(1_000);
    q.broken = true; // a check of each would take long
  });

  it('I2: a wrong token changes nothing and is named as lost, the others of the batch are settled', async () => {
    const q = await queueWith('a', 'b', 'c');
    const [a, b, c] = await q.claim(3);
    const stale = { ...b!, token: 'stale' };
    expect((await q.run(q.scripts.complete([a!, stale, c!].map((job) => ({ ...job, result: '' }))))).lost).toEqual([
      1,
    ]);
    expect(await q.status('b')).toBe('processing');
    expect(await q.redis.lrange(q.keys.completed, 0, -1)).toEqual(['c', 'a']);
  });

  it('I2: an expired claim that was not reclaimed is still accepted', async () => {
    const { q, job } = await claimedJob('a');
    await q.expireClaims('a');
    expect((await q.complete(job)).lost).toEqual([]);
    expect(await q.status('a')).toBe('completed');
  });

  it('I2: a claim that was reclaimed is lost, also when the job was claimed again', async () => {
    const { q, job } = await claimedJob('a');
    await q.expireClaims('a');
    await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1_000_000, waitMs: 0 }));
    const done = q.scripts.complete([{ ...job, result: '' }]);
    expect((await expectUnchanged(q, () => q.run(done))).lost).toEqual([0]);
    await q.claim(1);
    expect((await expectUnchanged(q, () => q.run(done))).lost).toEqual([0]);
  });

  it('I7: a job whose hash is gone is lost, and comes not back', async () => {
    const { q, job } = await claimedJob('a');
    await q.redis.del(q.keys.job('a'));
    expect((await expectUnchanged(q, () => q.complete(job))).lost).toEqual([0]);
    q.broken = true; // until the sweep finds the claim
  });

  it('I3: repeated after a lost reply it counts as done and changes nothing', async () => {
    const { q, job } = await claimedJob('a');
    const done = q.scripts.complete([{ ...job, result: '1' }]);
    await q.run(done);
    expect((await expectUnchanged(q, () => q.run(done))).lost).toEqual([]);
  });

  it('I3: a job twice in one batch is recorded once', async () => {
    const { q, job } = await claimedJob('a');
    const done = { ...job, result: '1' };
    expect((await q.run(q.scripts.complete([done, done]))).lost).toEqual([]);
    expect(await q.total('completed')).toBe(1);
  });

  it('I2: a fail or a complete after the job has completed is lost', async () => {
    const { q, job } = await claimedJob('a');
    await q.complete(job, '1');
    const failure = q.scripts.fail([{ ...job, error, final: false, backoffMs: 0 }]);
    expect(await expectUnchanged(q, () => q.run(failure))).toEqual(['lost']);
    const other = q.scripts.complete([{ ...job, token: '', fence: job.fence + 1, result: '2' }]);
    expect((await expectUnchanged(q, () => q.run(other))).lost).toEqual([0]);
  });

  it('a complete that comes before the cancel is delivered wins', async () => {
    const { q, job } = await claimedJob('a');
    await q.run(q.scripts.cancel({ id: 'a' }));
    expect((await q.complete(job)).lost).toEqual([]);
    expect(await q.status('a')).toBe('completed');
  });

  it('takes the error of an earlier attempt away, and keeps the record of it', async () => {
    const q = testQueue();
    const first = await q.addAndClaim('a');
    await q.fail(first);
    const [second] = await q.claim(1);
    await q.complete(second!);
    const hash = await q.job('a');
    expect(hash).not.toHaveProperty('last_error');
    expect(hash).not.toHaveProperty('last_error_at_ms');
    expect(hash.attempt_log).toContain('"message":"no"');
  });

  it('frees its unique key', async () => {
    const { q, job } = await claimedJob('a', { unique: 'k', unique_for: 'unfinished' });
    await q.complete(job);
    expect(await q.redis.exists(q.keys.unique)).toBe(0);
  });

  it('frees only a unique key that is still its own', async () => {
    const { q, job } = await claimedJob('a', { unique: 'k', unique_for: 'pending' });
    await q.add('b', { unique: 'k', unique_for: 'pending' });
    await q.complete(job);
    expect(await q.redis.hget(q.keys.unique, 'k')).toBe('b');
  });
});

describe('attempt/complete.lua: history', () => {
  it('is cut at its cap; a cut job can be read for 10 s', async () => {
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
    await q.complete(job, '1');
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
      await q.complete(job);
      lengths.push(await q.redis.llen(q.keys.completed));
    }
    expect(lengths).toEqual([199, 98, 5, 5]);
  });

  it('spares an id that is in use again', async () => {
    const q = testQueue({ completedHistory: 1 });
    await q.redis.lpush(q.keys.completed, 'again');
    await q.addAll('again', 'b');
    const [, b] = await q.claim(2);
    await q.complete(b!);
    expect(await q.redis.pttl(q.keys.job('again'))).toBe(-1);
  });
});
