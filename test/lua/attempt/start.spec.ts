import { describe, expect, it } from '@jest/globals';
import type { ClaimedJob } from '#queue/model/job.js';
import {
  expectUnchanged,
  testQueue,
  type TestQueue,
  queueWith,
  claimedJob,
} from '../../support/queue/queue-state.js';

/** Kills the worker of a claimed job, and lets a sweep find the claim. */
async function die(q: TestQueue, id: string): Promise<void> {
  await q.expireClaims(id);
  await q.run(q.scripts.sweep.reclaim({ limit: 500, gapMs: Number.MAX_SAFE_INTEGER, waitMs: 0 }));
}

/** Adds a job and lets workers die with it. */
async function addCrashed(q: TestQueue, id: string, times: number): Promise<void> {
  await q.add(id);
  for (let i = 0; i < times; i++) {
    await q.claim(1);
    await die(q, id);
  }
}

/** Returns the fields that mark a job as unstarted. */
async function marks(q: TestQueue, id: string): Promise<string[]> {
  return Object.keys(await q.job(id)).filter((field) => field.startsWith('unstarted:'));
}

async function claimAlone(q: TestQueue) {
  const [job] = await q.claim(1, { slots: 1 });
  return job!;
}

/** Claims two jobs that can expire, one of them with two crashes. Then both expire. */
async function claimThenExpire(q: TestQueue): Promise<ClaimedJob[]> {
  await q.add('isolated', { expires_in_ms: 60_000 });
  for (let i = 0; i < 2; i++) {
    await q.claim(1);
    await die(q, 'isolated');
  }
  await q.add('prefetched', { expires_in_ms: 60_000 });
  const jobs = await q.claim(2, { slots: 2 });
  for (const { id } of jobs) await q.redis.hset(q.keys.job(id), 'expires_at_ms', 1);
  return jobs;
}

describe('attempt/start.lua', () => {
  it('before it, an isolated job is unstarted: if its worker dies, no crash is counted', async () => {
    const q = testQueue();
    await addCrashed(q, 'a', 2);
    expect(await claimAlone(q)).toMatchObject({ id: 'a', attempt: 3, isolated: true });
    await die(q, 'a');
    expect(await q.job('a')).toMatchObject({ status: 'pending', attempts: '2', crashes: '2', interruptions: '1' });
    expect((await q.attemptLog('a')).map(({ outcome }) => outcome)).toEqual(['crash', 'crash', 'interruption']);
  });

  it('after it, the death of its worker is a crash; repeated it changes nothing', async () => {
    const q = testQueue();
    await addCrashed(q, 'a', 2);
    const job = await claimAlone(q);
    expect(await q.run(q.scripts.start([job]))).toEqual(['started']);
    expect(await expectUnchanged(q, () => q.run(q.scripts.start([job])))).toEqual(['started']);
    await die(q, 'a');
    expect(await q.job('a')).toMatchObject({ status: 'failed', crashes: '3' });
  });

  it('before a charge of a job that starts uncharged, the death of its worker is an interruption', async () => {
    const q = testQueue();
    await addCrashed(q, 'a', 2);
    const job = await claimAlone(q);
    const start = () => q.run(q.scripts.start([{ ...job, uncharged: true }]));
    expect(await start()).toEqual(['started']);
    expect(await expectUnchanged(q, start)).toEqual(['started']);
    await die(q, 'a');
    expect(await q.job('a')).toMatchObject({ status: 'pending', attempts: '2', crashes: '2', interruptions: '1' });
    expect(await marks(q, 'a')).toEqual([]);
  });

  it('after that charge it is a crash, even if the start without one is repeated late', async () => {
    const q = testQueue();
    await addCrashed(q, 'a', 2);
    const job = await claimAlone(q);
    const { id, token, fence } = job;
    await q.run(q.scripts.start([{ ...job, uncharged: true }]));
    expect(await q.run(q.scripts.start([{ id, token, fence }]))).toEqual(['started']);
    await expectUnchanged(q, () => q.run(q.scripts.start([{ ...job, uncharged: true }])));
    await die(q, 'a');
    expect(await q.job('a')).toMatchObject({ status: 'failed', crashes: '3' });
  });

  it('I2: says that a claim is lost, and writes nothing', async () => {
    const q = testQueue();
    await addCrashed(q, 'a', 2);
    const job = await claimAlone(q);
    expect(await expectUnchanged(q, () => q.run(q.scripts.start([{ ...job, token: 'x' }])))).toEqual(['lost']);
    expect(await expectUnchanged(q, () => q.run(q.scripts.start([{ id: 'gone', token: 't', fence: 1 }])))).toEqual([
      'lost',
    ]);
  });
});

describe('attempt/start.lua of a job that expired after its claim', () => {
  const EXPIRED = { name: 'JobExpired', message: 'The job was not started within its expiresInMs.' };

  it('says why it must not start, with the attempts before; repeated it changes nothing', async () => {
    const q = testQueue();
    const [isolated, prefetched] = await claimThenExpire(q);
    expect([isolated!.isolated, prefetched!.expires]).toEqual([true, true]);
    const message = 'The job expired after 2 attempts, before the next one.';
    for (const [job, error] of [
      [isolated!, { ...EXPIRED, message: expect.stringContaining(message) }],
      [prefetched!, EXPIRED],
    ] as const) {
      expect(await q.run(q.scripts.start([job]))).toEqual([error]);
      expect(await expectUnchanged(q, () => q.run(q.scripts.start([job])))).toEqual([error]);
      expect(await q.job(job.id)).toMatchObject({ status: 'processing', claim_token: job.token });
    }
  });

  it('is settled as one whose claim found it expired: it fails, and has used no attempt', async () => {
    const q = testQueue();
    const [isolated, prefetched] = await claimThenExpire(q);
    for (const [job, attempts] of [
      [isolated!, '2'],
      [prefetched!, '0'],
    ] as const) {
      await q.run(q.scripts.start([job]));
      const settle = () => q.fail(job, { error: EXPIRED, final: true });
      expect(await settle()).toEqual(['failed']);
      expect(await expectUnchanged(q, settle)).toEqual(['failed']);
      expect(await q.job(job.id)).toMatchObject({
        status: 'failed',
        attempts,
        errors: '1',
        last_error: EXPIRED.message,
      });
      expect((await q.attemptLog(job.id)).at(-1)).toMatchObject({ attempt: Number(attempts), outcome: 'error' });
    }
  });

  it('is not charged with a crash before that, and is released once by a worker that stops', async () => {
    const q = testQueue();
    const [isolated, prefetched] = await claimThenExpire(q);
    await q.run(q.scripts.start([isolated!]));
    await q.run(q.scripts.start([prefetched!]));
    await die(q, 'isolated');
    expect(await q.job('isolated')).toMatchObject({ status: 'pending', attempts: '2', crashes: '2' });
    await q.run(q.scripts.release([{ ...prefetched!, reason: 'interruption', delayMs: 0 }]));
    expect(await q.job('prefetched')).toMatchObject({ status: 'pending', attempts: '0' });
  });

  it('I2: says that a claim is lost, and writes nothing', async () => {
    const q = testQueue();
    const [isolated] = await claimThenExpire(q);
    expect(await expectUnchanged(q, () => q.run(q.scripts.start([{ ...isolated!, token: 'x' }])))).toEqual([
      'lost',
    ]);
  });

  it('is marked only for a claimer that asks, and again where its claim is repeated', async () => {
    const q = testQueue();
    await q.add('a', { expires_in_ms: 60_000 });
    const claim = () => q.claim(1, { slots: 1, token: 't' });
    const [first] = await claim();
    expect(first).toMatchObject({ attempt: 1, isolated: false, expires: true });
    expect(await expectUnchanged(q, claim)).toMatchObject([{ id: 'a', fence: first!.fence, expires: true }]);
    await q.add('b', { expires_in_ms: 60_000 });
    await q.addAll('c');
    expect((await q.claim(1)).map(({ expires }) => expires)).toEqual([false]);
    expect((await q.claim(1, { slots: 1 })).map(({ expires }) => expires)).toEqual([false]);
  });
});

describe('a job that was claimed before a slot was free for it', () => {
  it('is unstarted until its start: if its worker dies, only started jobs get a crash', async () => {
    const q = await queueWith('a', 'b', 'c');
    const jobs = await q.claim(3, { slots: 1 });
    expect(jobs).toMatchObject([
      { id: 'a', attempt: 1, prefetched: false, plain: true },
      { id: 'b', attempt: 1, prefetched: true, plain: true },
      { id: 'c', attempt: 1, prefetched: true, plain: true },
    ]);
    expect(await q.run(q.scripts.start([jobs[1]!]))).toEqual(['started']);
    for (const { id } of jobs) await die(q, id);
    expect(await q.job('a')).toMatchObject({ status: 'pending', attempts: '1', crashes: '1' });
    expect(await q.job('b')).toMatchObject({ status: 'pending', attempts: '1', crashes: '1' });
    expect(await q.job('c')).toMatchObject({ status: 'pending', attempts: '0', interruptions: '1' });
    expect(await q.job('c')).not.toHaveProperty('crashes');
  });

  it('starts with others in one call', async () => {
    const q = await queueWith('a', 'b', 'c');
    const jobs = await q.claim(3, { slots: 0 });
    expect(await q.run(q.scripts.start(jobs))).toEqual(['started', 'started', 'started']);
    expect(await expectUnchanged(q, () => q.run(q.scripts.start(jobs)))).toEqual(['started', 'started', 'started']);
    for (const { id } of jobs) expect(await marks(q, id)).toEqual([]);
  });

  it('starts although another of its call has lost its claim; a late start leaves the mark of a later claim', async () => {
    const q = await queueWith('a', 'b');
    const [a, b] = await q.claim(2, { slots: 0 });
    await die(q, 'a');
    await q.claim(1, { slots: 0 });
    expect(await expectUnchanged(q, () => q.run(q.scripts.start([a!])))).toEqual(['lost']);
    expect(await q.run(q.scripts.start([a!, b!]))).toEqual(['lost', 'started']);
    expect([await marks(q, 'a'), await marks(q, 'b')]).toEqual([[expect.any(String)], []]);
  });

  it('has no mark once its claim has ended', async () => {
    const q = await queueWith('fails', 'released', 'dies');
    const [fails, released] = await q.claim(3, { slots: 0 });
    await q.fail(fails!);
    await q.run(q.scripts.release([{ ...released!, reason: 'interruption', delayMs: 0, unstarted: true }]));
    await die(q, 'dies');
    for (const id of ['fails', 'released', 'dies']) expect([id, await marks(q, id)]).toEqual([id, []]);
  });

  it('is none for a claimer that does not pass its slots', async () => {
    const q = await queueWith('a', 'b');
    expect((await q.claim(2)).map(({ prefetched }) => prefetched)).toEqual([false, false]);
    expect(await marks(q, 'b')).toEqual([]);
  });

  it('may be all jobs of a claim, and any later attempt', async () => {
    const { q, job } = await claimedJob('a');
    await q.fail(job);
    expect(await q.claim(1, { slots: 0 })).toMatchObject([{ id: 'a', attempt: 2, prefetched: true, plain: false }]);
  });

  it('that fails before its start gets its attempt back; one that has started does not, even if its start call was lost', async () => {
    const q = testQueue({ maxAttempts: 1 });
    await q.addAll('a', 'b');
    const jobs = await q.claim(2, { slots: 0 });
    const error = { name: 'Error', message: 'failed' };
    const failures = jobs.map((job, i) => ({ ...job, error, final: false, backoffMs: 0, begun: i === 1 }));
    expect(await q.run(q.scripts.fail(failures))).toEqual(['retry', 'failed']);
    expect(await q.job('a')).toMatchObject({ status: 'pending', attempts: '0', errors: '1' });
    expect(await q.job('b')).toMatchObject({ status: 'failed', attempts: '1', errors: '1' });
  });

  it('still expires, and runs alone where it is isolated', async () => {
    const q = testQueue();
    await addCrashed(q, 'a', 2);
    await q.add('b', { expires_in_ms: 60_000 });
    expect(await q.claim(2, { slots: 0 })).toMatchObject([
      { id: 'a', isolated: true, prefetched: false },
      { id: 'b', isolated: false, prefetched: true, expires: true },
    ]);
    expect(await marks(q, 'b')).toHaveLength(1);
  });

  it('gets no crash where its claim refused it: its worker dies before it settles that', async () => {
    const q = testQueue({ maxAttempts: 1 });
    const { fence, token } = await q.addAndClaim('a');
    await q.run(q.scripts.release([{ id: 'a', token, fence, reason: 'interruption', delayMs: 0 }]));
    await q.redis.hset(q.keys.job('a'), 'attempts', 1);
    const { refused } = await q.run(q.claimCall(1, { slots: 0 }));
    expect(refused).toMatchObject([{ id: 'a' }]);
    await die(q, 'a');
    expect(await q.job('a')).toMatchObject({ status: 'pending', attempts: '1', interruptions: '2' });
    expect(await q.job('a')).not.toHaveProperty('crashes');
    expect(await marks(q, 'a')).toEqual([]);
    await q.run(q.claimCall(1, { slots: 0, token: 'next' }));
    const [ended] = await q.run(
      q.scripts.fail([
        {
          id: 'a',
          token: 'next',
          fence: Number((await q.job('a')).fence),
          error: { name: 'AttemptsExhausted', message: 'no' },
          final: true,
          backoffMs: 0,
        },
      ]),
    );
    expect(ended).toBe('failed');
    expect(await q.job('a')).toMatchObject({ status: 'failed', attempts: '1' });
    expect(await marks(q, 'a')).toEqual([]);
  });

  it('I3: is returned again when the claim is repeated', async () => {
    const q = await queueWith('a', 'b');
    await q.add('c', { expires_in_ms: 60_000 });
    const claim = () => q.claim(3, { slots: 1, token: 't' });
    const first = (await claim()).map(({ claimedAtMs: _at, ...job }) => job);
    expect(first.map(({ prefetched, expires }) => [prefetched, expires])).toEqual([
      [false, false],
      [true, false],
      [true, true],
    ]);
    expect(await expectUnchanged(q, claim)).toMatchObject(first);
  });

  it('is none any more in its next claim, also where that is repeated', async () => {
    const q = await queueWith('a');
    const [isolated] = await q.claim(1, { slots: 0 });
    await die(q, 'a');
    const claim = () => q.claim(1, { slots: 1, token: 't' });
    expect([isolated!.prefetched, (await claim())[0]!.prefetched]).toEqual([true, false]);
    expect(await expectUnchanged(q, claim)).toMatchObject([{ id: 'a', prefetched: false }]);
  });
});

describe('an isolated job', () => {
  it('has crashed, and has one attempt left', async () => {
    const q = testQueue({ maxAttempts: 2, maxCrashes: 9 });
    await addCrashed(q, 'a', 1);
    expect((await claimAlone(q)).isolated).toBe(true);
  });

  it('is not one with further crashes left, nor one whose attempts only failed', async () => {
    const crashed = testQueue({ maxAttempts: 9, maxCrashes: 3 });
    await addCrashed(crashed, 'a', 1);
    expect((await claimAlone(crashed)).isolated).toBe(false);
    const failed = testQueue({ maxAttempts: 2 });
    const job = await failed.addAndClaim('a');
    await failed.fail(job);
    expect((await claimAlone(failed)).isolated).toBe(false);
  });

  it('gets a crash from a claimer that starts everything at once', async () => {
    const q = testQueue();
    await addCrashed(q, 'a', 2);
    const [job] = await q.claim(1);
    expect(job!.isolated).toBe(false);
    await die(q, 'a');
    expect(await q.status('a')).toBe('failed');
  });

  it('gets a crash from a claimer that starts it at once, after another left it unstarted', async () => {
    const q = testQueue();
    await addCrashed(q, 'a', 2);
    await claimAlone(q);
    await die(q, 'a');
    await q.claim(1);
    await die(q, 'a');
    expect(await q.job('a')).toMatchObject({ status: 'failed', crashes: '3' });
  });

  it('I3: is returned again when the claim is repeated', async () => {
    const q = testQueue();
    await addCrashed(q, 'a', 2);
    const first = await q.claim(1, { slots: 1, token: 't' });
    expect(await expectUnchanged(q, () => q.claim(1, { slots: 1, token: 't' }))).toMatchObject([
      { id: 'a', isolated: true, fence: first[0]!.fence },
    ]);
  });

  it('runs alone after a redrive, which gives it one chance more', async () => {
    const q = testQueue();
    await addCrashed(q, 'a', 3);
    expect(await q.run(q.scripts.deadLetters.redrive({ ids: ['a'] }))).toBe(1);
    const claimed = await claimAlone(q);
    expect(claimed.isolated).toBe(true);
    await q.run(q.scripts.start([claimed]));
    await die(q, 'a');
    expect(await q.job('a')).toMatchObject({ status: 'failed', crashes: '4' });
  });
});
