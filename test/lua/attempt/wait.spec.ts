import { expect, it } from '@jest/globals';
import type { ClaimedJob } from '#queue/model/job.js';
import { expectUnchanged, type TestQueue, testQueue, claimedJob } from '../../support/queue/queue-state.js';

const NEVER = '253402300799000';

/** Waits for a signal, by default of the name `ok`. */
const wait = (q: TestQueue, claim: ClaimedJob, given: { name?: string; timeoutMs?: number; kind?: 'sleep' } = {}) =>
  q.run(q.scripts.wait({ claim, name: 'ok', kind: 'signal', ...given }));

const signal = (q: TestQueue, name = 'ok', data = '') =>
  q.run(q.scripts.signal({ id: 'a', signal: name, data, request: `r${name}` }));

const park = (q: TestQueue, job: ClaimedJob) => q.run(q.scripts.release([{ ...job, reason: 'wait', delayMs: 0 }]));

const parked = (q: TestQueue) => q.ranked(q.keys.awaitingSignals);

/** Moves the end of the wait into the past, as an hour would. */
async function passTime(q: TestQueue) {
  const waits = (await q.field('a', 'waits'))!.replace(/\t\d+\t(\w*)\n/g, '\t1\t$1\n');
  await q.redis.hset(q.keys.job('a'), 'waits', waits);
  await q.redis.zadd(q.keys.awaitingSignals, 'XX', 1, 'a');
  await q.makeDue('a');
}

it('parks a job until its signal, without a slot and without an attempt', async () => {
  const { q, job } = await claimedJob('a');
  expect(await wait(q, job)).toEqual({ is: 'open', leftMs: undefined });
  await expectUnchanged(q, async () => {
    expect(await wait(q, job)).toEqual({ is: 'open', leftMs: undefined });
  });
  expect(await park(q, job)).toEqual(['released']);
  expect(await q.job('a')).toMatchObject({ status: 'scheduled', attempts: '0', parked: '1', claim_token: '' });
  expect(await q.field('a', 'due_at_ms')).toBeNull();
  expect(await q.redis.zscore(q.keys.scheduled, 'a')).toBe(NEVER);
  expect(await parked(q)).toEqual(['a']);
  await expectUnchanged(q, async () => expect(await park(q, job)).toEqual(['released']));
  expect(await q.claim(1)).toEqual([]);
  expect(await signal(q, 'ok', '{"by":"ada"}')).toBe('delivered');
  const [again] = await q.claim(1);
  expect(again).toMatchObject({ id: 'a', attempt: 1 });
  expect(await wait(q, again!)).toEqual({ is: 'answered', data: '{"by":"ada"}' });
  await expectUnchanged(q, async () => {
    expect(await wait(q, again!)).toEqual({ is: 'answered', data: '{"by":"ada"}' });
  });
  expect(await parked(q)).toEqual([]);
});

it('returns a signal that came before it', async () => {
  const { q, job } = await claimedJob('a');
  expect(await signal(q)).toBe('kept');
  expect(await wait(q, job)).toEqual({ is: 'answered', data: '' });
});

it('does not park a job whose signal came between the wait and the release', async () => {
  const { q, job } = await claimedJob('a');
  await wait(q, job);
  expect(await signal(q)).toBe('kept');
  await park(q, job);
  expect([await q.pending(), await parked(q)]).toEqual([['a'], []]);
});

it('ends by its time, which later calls do not change, and stays so', async () => {
  const q = testQueue();
  let job = await q.addAndClaim('a');
  expect(await wait(q, job, { timeoutMs: 60_000 })).toEqual({ is: 'open', leftMs: 60_000 });
  await park(q, job);
  const due = await q.redis.zscore(q.keys.scheduled, 'a');
  expect(Number(due) - (await q.now())).toBeGreaterThan(59_000);
  expect(await q.redis.zscore(q.keys.awaitingSignals, 'a')).toBe(due);
  expect(await q.field('a', 'due_at_ms')).toBe(due);
  await passTime(q);
  await expectUnchanged(q, async () => expect(await signal(q)).toBe('late'));
  [job] = (await q.claim(1)) as [ClaimedJob];
  expect(await wait(q, job, { timeoutMs: 1e9 })).toEqual({ is: 'over' });
  await expectUnchanged(q, async () => {
    expect(await wait(q, job)).toEqual({ is: 'over' });
    expect(await signal(q)).toBe('late');
  });
});

it('asks only whether the signal is there with a timeout of 0', async () => {
  const { q, job } = await claimedJob('a');
  expect(await wait(q, job, { timeoutMs: 0 })).toEqual({ is: 'over' });
});

it('takes a signal that came in time, although the job runs later', async () => {
  const { q, job } = await claimedJob('a');
  await wait(q, job, { timeoutMs: 60_000 });
  await park(q, job);
  await signal(q, 'ok', '1');
  await q.redis.hset(q.keys.job('a'), 'waits', 'ok\tsignal\t1\t2\t\n');
  const [again] = await q.claim(1);
  expect(await wait(q, again!)).toEqual({ is: 'answered', data: '1' });
});

it('goes on at the first end of several waits, and at the expiry of the job', async () => {
  const { q, job } = await claimedJob('a', { expires_in_ms: 120_000 });
  await wait(q, job, { timeoutMs: 600_000 });
  await wait(q, job, { name: 'b' });
  await wait(q, job, { name: 'c', kind: 'sleep', timeoutMs: 500_000 });
  await park(q, job);
  expect(await q.redis.zscore(q.keys.scheduled, 'a')).toBe(await q.field('a', 'expires_at_ms'));
  expect(await signal(q, 'c')).toBe('kept');
  expect(await signal(q, 'b')).toBe('delivered');
});

it('is refused to a claim that is lost', async () => {
  const { q, job } = await claimedJob('a');
  await q.run(q.scripts.release([{ ...job, reason: 'interruption', delayMs: 0 }]));
  await expectUnchanged(q, async () => {
    expect(await wait(q, job)).toEqual({ is: 'lost' });
    expect(await wait(q, { ...job, token: '' })).toEqual({ is: 'lost' });
  });
});

it('bounds the number of waits of a job', async () => {
  const { q, job } = await claimedJob('a');
  const lines = Array.from({ length: 256 }, (_, i) => `w${i}\tsignal\t1\t\t\n`);
  await q.redis.hset(q.keys.job('a'), 'waits', lines.join(''));
  await expectUnchanged(q, async () => expect(await wait(q, job)).toEqual({ is: 'waits' }));
  expect(await wait(q, job, { name: 'w7' })).toMatchObject({ is: 'open' });
});

it('goes with the payload and the run that it was made of; a redrive keeps answers and slept times', async () => {
  const q = testQueue();
  let job = await q.addAndClaim('a');
  await wait(q, job);
  await signal(q);
  await wait(q, job);
  await wait(q, job, { name: 'nap', kind: 'sleep', timeoutMs: 0 });
  await wait(q, job, { name: 'late', timeoutMs: 0 });
  await wait(q, job, { name: 'open' });
  await q.fail(job, { final: true });
  await q.run(q.scripts.deadLetters.redrive({ ids: ['a'] }));
  const names = (await q.field('a', 'waits'))!.split('\n').map((line) => line.split('\t')[0]);
  expect(names).toEqual(['ok', 'nap', '']);
  [job] = (await q.claim(1)) as [ClaimedJob];
  expect(await wait(q, job, { name: 'late', timeoutMs: 5_000 })).toMatchObject({ is: 'open' });
  await q.fail(job, { final: true });
  await q.run(q.scripts.deadLetters.redrive({ ids: ['a'], payload: '2' }));
  expect(await q.job('a')).not.toMatchObject({ waits: expect.anything() });
  expect(await q.field('a', 'signals')).toBeNull();
  [job] = (await q.claim(1)) as [ClaimedJob];
  await wait(q, job, { timeoutMs: 0 });
  await q.complete(job);
  await q.run(q.scripts.runAgain({ id: 'a', request: 'r' }));
  expect(await q.field('a', 'waits')).toBeNull();
});
