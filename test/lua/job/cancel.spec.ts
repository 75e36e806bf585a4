import { expect, it } from '@jest/globals';
import type { QueueOptions } from '#queue/model/queue-options.js';
import { expectUnchanged, testQueue, queueWith, claimedJob } from '../../support/queue/queue-state.js';

it.each([
  ['pending', {}],
  ['prioritized', { priority: 5 }],
  ['scheduled', { delay_ms: 60_000 }],
])('ends a %s job at once, with a TTL, its unique key free', async (_place, options) => {
  const q = testQueue({ resultTtlMs: 60_000 });
  await q.add('a', { ...options, unique: 'k', unique_for: 'unfinished' });
  await q.addAll('b');
  expect(await q.run(q.scripts.cancel({ id: 'a' }))).toBe('cancelled');
  const hash = await q.job('a');
  expect(hash.status).toBe('cancelled');
  expect(Math.abs(Number(hash.cancelled_at_ms) - (await q.now()))).toBeLessThan(5_000);
  expect(await q.redis.lrange(q.keys.cancelled, 0, -1)).toEqual(['a']);
  expect(await q.redis.pttl(q.keys.job('a'))).toBeGreaterThan(0);
  expect(await q.redis.pttl(q.keys.job('a'))).toBeLessThanOrEqual(60_000);
  expect(await q.redis.exists(q.keys.unique)).toBe(0);
  expect(await q.total('cancelled')).toBe(1);
  expect((await q.claim(10)).map((job) => job.id)).toEqual(['b']);
});

it('returns the job to a caller with listeners, however short it is kept', async () => {
  const q = testQueue({ resultTtlMs: 1 });
  await q.addAll('a');
  const answer = await q.run(q.scripts.cancelAndReturn({ id: 'a', request: 'r' }));
  expect(answer).toMatchObject({ outcome: 'cancelled', cancelled: { id: 'a', status: 'cancelled' } });
  await q.addAndClaim('b');
  expect(await q.run(q.scripts.cancelAndReturn({ id: 'b', request: 'r' }))).toEqual({ outcome: 'requested' });
  expect(await q.run(q.scripts.cancelAndReturn({ id: 'none', request: 'r' }))).toEqual({ outcome: 'missing' });
});

it('spares a job whose status is another by now, ours or foreign', async () => {
  const q = await queueWith('running', 'foreign', 'waits');
  await q.claim(1);
  await q.redis.lmove(q.keys.pending, q.keys.processing, 'RIGHT', 'LEFT');
  q.broken = true; // as a foreign client leaves it between its two steps
  const answers = await expectUnchanged(q, async () => [
    await q.run(q.scripts.cancel({ id: 'running', ifStatus: 'pending' })),
    await q.run(q.scripts.cancel({ id: 'foreign', ifStatus: 'pending' })),
    await q.run(q.scripts.cancel({ id: 'waits', ifStatus: 'scheduled' })),
  ]);
  expect(answers).toEqual(['changed', 'changed', 'changed']);
  expect(await q.run(q.scripts.cancel({ id: 'waits', ifStatus: 'pending' }))).toBe('cancelled');
  expect(await q.run(q.scripts.cancel({ id: 'waits', ifStatus: 'pending' }))).toBe('cancelled');
  expect(await q.run(q.scripts.cancel({ id: 'running', ifStatus: 'processing' }))).toBe('requested');
});

it('I3: answers the job to the same request again, and to no other', async () => {
  const q = await queueWith('a', 'b');
  const first = await q.run(q.scripts.cancelAndReturn({ id: 'a', request: 'r-1' }));
  await q.run(q.scripts.cancel({ id: 'b' }));
  await expectUnchanged(q, async () => {
    expect(await q.run(q.scripts.cancelAndReturn({ id: 'a', request: 'r-1' }))).toEqual(first);
    for (const request of ['r-', '-1', 'r-11', 'of another']) {
      expect(await q.run(q.scripts.cancelAndReturn({ id: 'a', request }))).toEqual({ outcome: 'cancelled' });
    }
    expect(await q.run(q.scripts.cancel({ id: 'a' }))).toBe('cancelled');
    expect(await q.run(q.scripts.cancelAndReturn({ id: 'b', request: 'r' }))).toEqual({ outcome: 'cancelled' });
    expect(await q.run(q.scripts.cancel({ id: 'b' }))).toBe('cancelled');
  });
});

it('I3: repeated, it says of a member of a batch that the outbox has something, while that is so', async () => {
  const q = testQueue();
  q.broken = true; // such a batch is nowhere
  await q.addAll('plain', 'member');
  await q.run(q.scripts.cancel({ id: 'plain' }));
  await q.run(q.scripts.cancel({ id: 'member' }));
  await q.redis.hset(q.keys.job('member'), 'batch', 'b');
  expect(await q.run(q.scripts.cancel({ id: 'member' }))).toBe('cancelled');
  await q.redis.hset(q.keys.batchOutbox, 'end', 'of another');
  expect(await q.run(q.scripts.cancel({ id: 'member' }))).toBe('posted');
  expect(await q.run(q.scripts.cancel({ id: 'plain' }))).toBe('cancelled');
});

const OF_QUEUE = { resultTtlMs: 60_000 };
it.each<[string, Record<string, string>, QueueOptions, number]>([
  ['the enqueue', { worker: '{"resultTtlMs":90000}' }, { ...OF_QUEUE, cancelledTtlMs: 1 }, 90_000],
  ['the queue of cancelled jobs', {}, { ...OF_QUEUE, cancelledTtlMs: 30_000 }, 30_000],
  ['the queue', {}, OF_QUEUE, 60_000],
])('keeps a job as long as %s says, also a running one', async (_who, options, queueOptions, ms) => {
  const q = testQueue(queueOptions);
  const job = await q.addAndClaim('runs', options);
  await q.run(q.scripts.cancel({ id: 'runs' }));
  await q.fail(job);
  await q.add('waits', options);
  await q.run(q.scripts.cancel({ id: 'waits' }));
  for (const id of ['runs', 'waits']) {
    expect(await q.redis.pttl(q.keys.job(id))).toBeGreaterThan(ms - 5_000);
    expect(await q.redis.pttl(q.keys.job(id))).toBeLessThanOrEqual(ms);
  }
});

it('keeps a job for a year at most, whatever a producer wrote', async () => {
  const q = testQueue();
  await q.add('a', { worker: '{"resultTtlMs":99999999999999999999}' });
  await q.run(q.scripts.cancel({ id: 'a' }));
  expect(await q.redis.pttl(q.keys.job('a'))).toBeLessThanOrEqual(31_536_000_000);
  expect(await q.redis.pttl(q.keys.job('a'))).toBeGreaterThan(31_535_000_000);
});

it('flags a running job and leaves its claim', async () => {
  const { q, job } = await claimedJob('a');
  expect(await q.run(q.scripts.cancel({ id: 'a' }))).toBe('requested');
  const hash = await q.job('a');
  expect(hash).toMatchObject({ status: 'processing', claim_token: job.token });
  expect(Number(hash.cancel_requested_at_ms)).toBeGreaterThan(0);
});

it('flags a job that a client of the pattern has moved and not yet marked', async () => {
  const q = await queueWith('a');
  await q.redis.lmove(q.keys.pending, q.keys.processing, 'RIGHT', 'LEFT');
  expect(await q.run(q.scripts.cancel({ id: 'a' }))).toBe('requested');
  expect(await q.status('a')).toBe('pending');
  q.broken = true; // as that client left it
});

it.each(['pending', 'processing'])(
  'I3: repeated for a %s job it answers the same and changes nothing',
  async (status) => {
    const q = await queueWith('a');
    if (status === 'processing') await q.claim(1);
    const first = await q.run(q.scripts.cancel({ id: 'a' }));
    expect(await expectUnchanged(q, () => q.run(q.scripts.cancel({ id: 'a' })))).toBe(first);
  },
);

it('leaves an ended job, and a missing one', async () => {
  const q = await queueWith('done', 'dead');
  const [done, dead] = await q.claim(2);
  await q.complete(done!);
  await q.fail(dead!, { final: true });
  const answers = await expectUnchanged(q, async () => [
    await q.run(q.scripts.cancel({ id: 'done' })),
    await q.run(q.scripts.cancel({ id: 'dead' })),
    await q.run(q.scripts.cancel({ id: 'missing' })),
  ]);
  expect(answers).toEqual(['finished', 'finished', 'missing']);
});

it.each([
  [1, ['c'], 2],
  [0, [], 3],
])('a history of %i keeps %j; a job that fell off lives 10 s', async (cancelledHistory, kept, fallen) => {
  const q = testQueue({ cancelledHistory });
  await q.addAll('a', 'b', 'c');
  for (const id of ['a', 'b', 'c']) await q.run(q.scripts.cancel({ id }));
  expect(await q.redis.lrange(q.keys.cancelled, 0, -1)).toEqual(kept);
  const lives = await Promise.all(['a', 'b', 'c'].map((id) => q.redis.pttl(q.keys.job(id))));
  expect(lives.filter((ms) => ms > 0 && ms <= 10_000)).toHaveLength(fallen);
});
