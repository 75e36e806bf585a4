import { describe, expect, it } from '@jest/globals';
import type { ClaimedJob } from '#queue/model/job.js';
import type { UnsealedFailure } from '#queue/store/attempt-forms.js';
import { expectUnchanged, testQueue, queueWith, claimedJob } from '../../support/queue/queue-state.js';

const error = { name: 'TypeError', message: 'no address' };

function failure(job: ClaimedJob, rest: Partial<UnsealedFailure> = {}): UnsealedFailure {
  return { ...job, error, final: false, backoffMs: 0, ...rest };
}

it('begins the log of attempts anew where another program wrote more lines than any job has', async () => {
  const q = testQueue();
  const job = await q.addAndClaim('a');
  await q.redis.hset(q.keys.job('a'), 'attempt_log', Array(101).fill('{}').join('\n'));
  await q.fail(job);
  expect(await q.attemptLog('a')).toMatchObject([{ attempt: 1, outcome: 'error' }]);
});

/** Buries a job whose failures a handler was announced for so long ago. Returns the ids of urgent jobs. */
async function buriedWith(announcedMs: number) {
  const q = testQueue();
  await q.redis.zadd(q.keys.names, (await q.now()) - announcedMs, `@failed:${q.name}`);
  const job = await q.addAndClaim('a');
  await q.fail(job, { final: true });
  return { q, job, told: await q.ranked(q.keys.prioritized) };
}

describe('a failure job', () => {
  it('follows a dead letter whose failures a worker handles, with all that is known of it', async () => {
    const { q, job, told } = await buriedWith(86_400_000 - 60_000);
    expect(told).toEqual([`@failed:a:${job.fence}`]);
    const { name, payload } = await q.job(told[0]!);
    expect(name).toBe(`@failed:${q.name}`);
    expect(JSON.parse(payload!)).toMatchObject({ id: 'a', name: q.name, attempts: '1', payload: '{}' });
    expect(await q.total('enqueued')).toBe(2);
  });

  it('follows none where no worker has announced its handler for a day', async () => {
    expect((await buriedWith(86_400_000 + 60_000)).told).toEqual([]);
  });
});

describe('attempt/fail.lua', () => {
  it('retries at the back of the queue, and keeps error and attempt', async () => {
    const q = await queueWith('a', 'b');
    const [a] = await q.claim(1);
    await q.takeWake();
    expect(await q.run(q.scripts.fail([failure(a!)]))).toEqual(['retry']);
    expect(await q.pending()).toEqual(['b', 'a']);
    expect(await q.job('a')).toMatchObject({
      status: 'pending',
      attempts: '1',
      errors: '1',
      claim_token: '',
      claimed_at_ms: '0',
      last_error: 'no address',
    });
    expect(await q.total('retried')).toBe(1);
    expect(await q.takeWake()).toBe(true);
  });

  it.each([
    ['without options', {}],
    ['with metadata alone', { options: { metadata: { a: 'b' } } }],
  ])('leaves no error on a job %s that fails unstarted and then completes', async (_, options) => {
    const q = testQueue();
    await q.run(q.scripts.enqueue(['ahead', 'a'].map((id) => ({ id, name: 'mail', payload: '1', ...options }))));
    const [, unstarted] = await q.claim(2, { slots: 1 });
    expect(unstarted).toMatchObject({ id: 'a', prefetched: true });
    await q.run(q.scripts.fail([failure(unstarted!)]));
    expect(await q.job('a')).toMatchObject({ status: 'pending', attempts: '0', last_error: 'no address' });
    const [job] = await q.claim(1);
    expect(job).toMatchObject({ id: 'a', attempt: 1 });
    await q.complete(job!);
    expect(await q.job('a')).not.toHaveProperty('last_error');
  });

  it('I5: retries after its backoff, by the time of the server', async () => {
    const { q, job } = await claimedJob('a');
    const before = await q.now();
    await q.run(q.scripts.fail([failure(job, { backoffMs: 60_000 })]));
    const due = Number(await q.redis.zscore(q.keys.scheduled, 'a'));
    expect(due).toBeGreaterThanOrEqual(before + 60_000);
    expect(due).toBeLessThanOrEqual((await q.now()) + 60_000);
    expect(await q.job('a')).toMatchObject({ status: 'scheduled', due_at_ms: String(due) });
  });

  it('puts a prioritized job to the end of its line', async () => {
    const q = testQueue();
    await q.add('a', { priority: 5 });
    const [a] = await q.claim(1);
    await q.add('b', { priority: 5 });
    await q.run(q.scripts.fail([failure(a!)]));
    expect(await q.ranked(q.keys.prioritized)).toEqual(['b', 'a']);
    expect(await q.field('a', 'rank')).toBe(await q.redis.zscore(q.keys.prioritized, 'a'));
  });

  it('I6: the last attempt ends as a dead letter without a TTL', async () => {
    const q = testQueue({ maxAttempts: 2 });
    const first = await q.addAndClaim('a');
    expect(await q.run(q.scripts.fail([failure(first)]))).toEqual(['retry']);
    const [second] = await q.claim(1);
    await q.takeWake();
    expect(await q.run(q.scripts.fail([failure(second!)]))).toEqual(['failed']);
    const hash = await q.job('a');
    expect(hash).toMatchObject({ status: 'failed', attempts: '2', claim_token: '', last_error: 'no address' });
    expect(await q.redis.zscore(q.keys.dead, 'a')).toBe(hash.failed_at_ms);
    expect(await q.redis.lrange(q.keys.failed, 0, -1)).toEqual(['a']);
    expect(await q.redis.pttl(q.keys.job('a'))).toBe(-1);
    expect(await q.total('failed')).toBe(1);
    expect(await q.takeWake()).toBe(false);
  });

  it('takes the TTL away that a foreign client may have set', async () => {
    const { q, job } = await claimedJob('a');
    await q.redis.expire(q.keys.job('a'), 300);
    await q.run(q.scripts.fail([failure(job, { final: true })]));
    expect(await q.redis.pttl(q.keys.job('a'))).toBe(-1);
  });

  it('a final failure is a dead letter at once', async () => {
    const { q, job } = await claimedJob('a');
    expect(await q.run(q.scripts.fail([failure(job, { final: true, backoffMs: 5_000 })]))).toEqual(['failed']);
    expect(await q.ranked(q.keys.dead)).toEqual(['a']);
  });

  it('a job that was asked to cancel ends cancelled, not retried', async () => {
    const { q, job } = await claimedJob('a', { unique: 'k', unique_for: 'unfinished' });
    await q.run(q.scripts.cancel({ id: 'a' }));
    expect(await q.run(q.scripts.fail([failure(job)]))).toEqual(['cancelled']);
    expect(await q.status('a')).toBe('cancelled');
    expect(await q.redis.exists(q.keys.unique)).toBe(0);
    expect(await q.total('cancelled')).toBe(1);
  });

  it('I2: a wrong token changes nothing', async () => {
    const { q, job } = await claimedJob('a');
    const stale = q.scripts.fail([failure(job, { token: 'stale' })]);
    expect(await expectUnchanged(q, () => q.run(stale))).toEqual(['lost']);
  });

  it('I7: a job whose hash is gone is lost and not created again', async () => {
    const { q, job } = await claimedJob('a');
    await q.redis.del(q.keys.job('a'));
    expect(await expectUnchanged(q, () => q.run(q.scripts.fail([failure(job)])))).toEqual(['lost']);
    q.broken = true; // until the sweep finds the claim
  });

  it('takes a batch of none', async () => {
    const q = testQueue();
    expect(await expectUnchanged(q, () => q.run(q.scripts.fail([])))).toEqual([]);
  });

  it('settles 500 in one call, each with its own answer', async () => {
    const q = await queueWith(...Array.from({ length: 500 }, (_, i) => `job-${i}`));
    const jobs = await q.claim(500);
    const answers = await q.run(q.scripts.fail(jobs.map((job, i) => failure(job, { final: i % 2 === 0 }))));
    expect(answers).toEqual(jobs.map((_, i) => (i % 2 === 0 ? 'failed' : 'retry')));
    expect(await q.redis.zcard(q.keys.dead)).toBe(250);
  });

  it.each([
    ['retry', {}, {}],
    ['retry', { backoffMs: 60_000 }, {}],
    ['failed', { final: true }, {}],
    ['cancelled', {}, { cancel_requested_at_ms: 1 }],
  ])('I3: repeated after a lost reply it answers %s again and changes nothing', async (answer, rest, fields) => {
    const { q, job } = await claimedJob('a');
    if (Object.keys(fields).length > 0) await q.redis.hset(q.keys.job('a'), fields);
    const call = q.scripts.fail([failure(job, rest)]);
    expect(await q.run(call)).toEqual([answer]);
    expect(await expectUnchanged(q, () => q.run(call))).toEqual([answer]);
  });

  it('I3: repeated after the retry was claimed again it gives the first answer and changes nothing', async () => {
    const { q, job } = await claimedJob('a');
    const call = q.scripts.fail([failure(job)]);
    await q.run(call);
    await q.claim(1);
    expect(await expectUnchanged(q, () => q.run(call))).toEqual(['retry']);
  });

  it('I2: after its claim was reclaimed and the job claimed again, it is lost and changes nothing', async () => {
    const { q, job } = await claimedJob('a');
    await q.expireClaims('a');
    await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1e15, waitMs: 0 }));
    await q.claim(1);
    expect(await expectUnchanged(q, () => q.run(q.scripts.fail([failure(job)])))).toEqual(['lost']);
  });
});

describe('attempt/fail.lua: records', () => {
  it('logs each attempt with its worker, times and error, the newest 20', async () => {
    const q = testQueue({ maxAttempts: 50 });
    await q.addAll('a');
    for (let i = 1; i <= 25; i++) {
      const [job] = await q.claim(1, { worker: 'host "1"\n' });
      await q.run(q.scripts.fail([failure(job!, { error: { name: 'E', message: `try ${i}\n"` } })]));
    }
    const log = await q.attemptLog('a');
    expect(log.map((entry) => entry.attempt)).toEqual(Array.from({ length: 20 }, (_, i) => i + 6));
    expect(log.at(-1)).toMatchObject({
      outcome: 'error',
      worker: 'host "1"\n',
      error: { name: 'E', message: 'try 25\n"' },
    });
    expect(Number(log.at(-1)!.endedAt)).toBeGreaterThanOrEqual(Number(log.at(-1)!.startedAt));
  });

  it('keeps the failed history at its cap, and all dead letters', async () => {
    const q = testQueue({ failedHistory: 1 });
    await q.addAll('a', 'b');
    const jobs = await q.claim(2);
    await q.run(q.scripts.fail(jobs.map((job) => failure(job, { final: true }))));
    expect(await q.redis.lrange(q.keys.failed, 0, -1)).toEqual(['b']);
    expect(await q.redis.zcard(q.keys.dead)).toBe(2);
    expect(await q.redis.pttl(q.keys.job('a'))).toBe(-1);
  });

  it('a failed history of 0 keeps the dead letter', async () => {
    const q = testQueue({ failedHistory: 0 });
    await q.run(q.scripts.fail([failure(await q.addAndClaim('a'), { final: true })]));
    expect(await q.redis.llen(q.keys.failed)).toBe(0);
    expect(await q.ranked(q.keys.dead)).toEqual(['a']);
  });

  it('beyond their cap the oldest dead letters are deleted', async () => {
    const q = testQueue({ deadLetterCap: 2 });
    for (const [i, id] of ['a', 'b', 'c'].entries()) {
      await q.run(q.scripts.fail([failure(await q.addAndClaim(id), { final: true })]));
      await q.redis.zadd(q.keys.dead, 'XX', i + 1, id);
    }
    expect(await q.ranked(q.keys.dead)).toEqual(['b', 'c']);
    expect(await q.redis.exists(q.keys.job('a'))).toBe(0);
    expect(await q.total('failed')).toBe(3);
  });

  it('frees the unique key of a dead letter, and holds that of a retry', async () => {
    const q = testQueue({ maxAttempts: 2 });
    const job = await q.addAndClaim('a', { unique: 'k', unique_for: 'unfinished' });
    await q.run(q.scripts.fail([failure(job)]));
    expect(await q.redis.hget(q.keys.unique, 'k')).toBe('a');
    await q.run(q.scripts.fail([failure((await q.claim(1))[0]!)]));
    expect(await q.redis.exists(q.keys.unique)).toBe(0);
  });
});
