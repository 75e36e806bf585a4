import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, queueWith } from '../../support/queue/queue-state.js';

it('sends a dead letter back to work with all its attempts, its error kept for the record', async () => {
  const q = testQueue({ maxAttempts: 2 });
  await q.bury('a');
  await q.redis.hset(q.keys.job('a'), 'superseded_by', 'b');
  await q.takeWake();
  expect(await q.run(q.scripts.deadLetters.redrive({ ids: ['a'] }))).toBe(1);
  const hash = await q.job('a');
  expect(hash).toMatchObject({ status: 'pending', attempts: '0', last_error: 'no', claim_token: '' });
  expect(hash).not.toHaveProperty('failed_at_ms');
  expect(hash).not.toHaveProperty('superseded_by');
  expect(hash.attempt_log).toContain('"no"');
  expect(await q.ranked(q.keys.dead)).toEqual([]);
  expect(await q.redis.llen(q.keys.failed)).toBe(0);
  expect(await q.total('redriven')).toBe(1);
  expect(await q.takeWake()).toBe(true);
  expect((await q.claim(1))[0]).toMatchObject({ id: 'a', attempt: 1 });
});

it('may put another payload in the place of the stored one', async () => {
  const q = testQueue();
  await q.bury('a');
  expect(await q.run(q.scripts.deadLetters.redrive({ ids: ['a'], payload: '{"to":"ada"}' }))).toBe(1);
  expect((await q.claim(1))[0]!.payload).toEqual({ to: 'ada' });
});

it('runs a job again that had crashed its workers, had expired, or was unknown', async () => {
  const q = testQueue();
  await q.bury('a');
  await q.redis.hset(q.keys.job('a'), { crashes: 3, unhandled: 11, expires_at_ms: 1, cancel_requested_at_ms: 1 });
  await q.run(q.scripts.deadLetters.redrive({ ids: ['a'] }));
  const { jobs } = await q.run(q.claimCall(1));
  expect(jobs.map((job) => job.id)).toEqual(['a']);
  await q.expireClaims('a');
  expect((await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1e12, waitMs: 0 }))).reclaimed).toEqual([
    { id: 'a', status: 'pending', worker: 'worker-1' },
  ]);
});

it('runs a job alone that killed its workers, or that is asked for', async () => {
  const q = testQueue();
  await q.bury('asked');
  await q.bury('crashed');
  await q.bury('other');
  await q.redis.hset(q.keys.job('crashed'), { crashes: 3, error_kind: '@crash' });
  await q.run(q.scripts.deadLetters.redrive({ ids: ['crashed', 'other'] }));
  await q.run(q.scripts.deadLetters.redrive({ ids: ['asked'], isolated: true }));
  const alone = async (id: string) => (await q.field(id, 'next_crash_is_last')) === '1';
  expect([await alone('asked'), await alone('crashed'), await alone('other')]).toEqual([true, true, false]);
  await q.run(q.claimCall(3));
  await q.expireClaims('crashed');
  const { reclaimed } = await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1e12, waitMs: 0 }));
  expect(reclaimed).toMatchObject([{ id: 'crashed', status: 'failed' }]);
});

it('says in the options when it was redriven last, and keeps the others', async () => {
  const q = testQueue();
  await q.bury('timed', { worker: '{"timeoutMs":5}' });
  await q.redis.hset(q.keys.job('timed'), { options: '{"startedOverAtMs":7,"timeoutMs":5}' });
  await q.bury('plain');
  await q.run(q.scripts.deadLetters.redrive({ ids: ['timed', 'plain'] }));
  const record = await q.run(q.scripts.get({ id: 'timed' }));
  const at = record!.startedOverAt!.getTime();
  expect(at).toBeGreaterThan(7);
  expect(await q.field('timed', 'options')).toBe(`{"startedOverAtMs":${at},"timeoutMs":5}`);
  expect(await q.field('plain', 'options')).toBe(`{"startedOverAtMs":${at}}`);
  const claimed = await q.claim(2);
  expect(claimed.map(({ options }) => options)).toEqual([
    { startedOverAtMs: at, timeoutMs: 5 },
    { startedOverAtMs: at },
  ]);
});

it('leaves no error in a job that then completes', async () => {
  const q = testQueue();
  await q.bury('a');
  await q.run(q.scripts.deadLetters.redrive({ ids: ['a'] }));
  const [job] = await q.claim(1);
  await q.complete(job!);
  expect(await q.job('a')).not.toHaveProperty('last_error');
});

it('skips a job that is no dead letter', async () => {
  const q = await queueWith('pending');
  expect(
    await expectUnchanged(q, () => q.run(q.scripts.deadLetters.redrive({ ids: ['pending', 'missing'] }))),
  ).toBe(0);
  expect(await expectUnchanged(q, () => q.run(q.scripts.deadLetters.redrive({ ids: [] })))).toBe(0);
});

it('I3: repeated, or twice in one call, it sends a job back once', async () => {
  const q = testQueue();
  await q.bury('a');
  expect(await q.run(q.scripts.deadLetters.redrive({ ids: ['a', 'a'] }))).toBe(1);
  expect(await expectUnchanged(q, () => q.run(q.scripts.deadLetters.redrive({ ids: ['a'] })))).toBe(0);
  expect(await q.pending()).toEqual(['a']);
});

it('takes 1,000 in one call, in the order given', async () => {
  const q = testQueue();
  const ids = Array.from({ length: 1_000 }, (_, i) => `job-${i}`);
  await q.addAll(...ids);
  const error = { name: 'Error', message: 'no' };
  const jobs = await q.claim(1_000);
  await q.run(q.scripts.fail(jobs.map((job) => ({ ...job, error, final: true, backoffMs: 0 }))));
  expect(await q.run(q.scripts.deadLetters.redrive({ ids }))).toBe(1_000);
  expect(await q.pending()).toEqual(ids);
  q.broken = true; // a check of each would take long
});

it('keeps a priority, at the end of its line', async () => {
  const q = testQueue();
  await q.bury('a', { priority: 5 });
  await q.add('b', { priority: 5 });
  await q.run(q.scripts.deadLetters.redrive({ ids: ['a'] }));
  expect(await q.ranked(q.keys.prioritized)).toEqual(['b', 'a']);
});

it('I7: forgets a dead letter whose hash is gone', async () => {
  const q = testQueue();
  await q.bury('a');
  await q.redis.del(q.keys.job('a'));
  expect(await q.run(q.scripts.deadLetters.redrive({ ids: ['a'] }))).toBe(0);
  expect(await q.ranked(q.keys.dead)).toEqual([]);
});

it('takes its unique key back from a job that a client of the pattern has ended', async () => {
  const q = testQueue();
  const key = { unique: 'k', unique_for: 'unfinished' };
  await q.bury('a', key);
  await q.add('other', key);
  await q.redis.lrem(q.keys.pending, 1, 'other');
  await q.redis.lpush(q.keys.completed, 'other');
  await q.redis.hset(q.keys.job('other'), 'status', 'completed');
  await q.redis.pexpire(q.keys.job('other'), 60_000);
  await q.run(q.scripts.deadLetters.redrive({ ids: ['a'] }));
  expect(await q.add('b', key)).toEqual({ id: 'a', outcome: 'kept' });
});

it('holds its unique key again, unless another job took it meanwhile', async () => {
  const q = testQueue();
  const key = { unique: 'k', unique_for: 'unfinished' };
  await q.bury('a', key);
  await q.run(q.scripts.deadLetters.redrive({ ids: ['a'] }));
  expect(await q.add('b', key)).toEqual({ id: 'a', outcome: 'kept' });
  const [a] = await q.claim(1);
  await q.fail(a!, { final: true });
  await q.add('b', key);
  await q.run(q.scripts.deadLetters.redrive({ ids: ['a'] }));
  expect(await q.redis.hget(q.keys.unique, 'k')).toBe('b');
});
