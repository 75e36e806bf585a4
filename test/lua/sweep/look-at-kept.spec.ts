import { expect, it } from '@jest/globals';
import { refTo } from '#queue/store/job-ref.js';
import { expectUnchanged, testQueue, type TestQueue, queueWith } from '../../support/queue/queue-state.js';

const look = (q: TestQueue, read: string[] = []) => q.run(q.scripts.sweep.lookAtKept({ limit: 10, read }));
const kept = (q: TestQueue) => q.ranked(q.keys.keptResults);
const due = (q: TestQueue, id: string) => q.redis.zadd(q.keys.keptResults, 'XX', 1, id);

/** Completes a job that others come after, and makes its record due for a look. */
async function completed(q: TestQueue, id: string, dependents: string): Promise<void> {
  await q.addAll(id);
  await q.redis.hset(q.keys.job(id), 'dependents', dependents, 'options', '{}');
  await q.complete((await q.claim(1))[0]!);
  await due(q, id);
}

it('does nothing to a queue without kept records', async () => {
  const q = testQueue();
  await expectUnchanged(q, async () => expect(await look(q)).toEqual({ more: false, kept: [] }));
});

it.each(['pending', 'scheduled', 'processing', 'failed'])(
  'keeps a record while a job here is %s',
  async (status) => {
    const q = testQueue();
    q.broken = true;
    await completed(q, 'a', 'b');
    await q.redis.hset(q.keys.job('b'), 'status', status);
    expect(await look(q)).toEqual({ more: false, kept: [] });
    expect(await q.redis.pttl(q.keys.job('a'))).toBe(-1);
    const again = Number(await q.redis.zscore(q.keys.keptResults, 'a')) - (await q.now());
    expect(again).toBeGreaterThan(25_000);
    expect(again).toBeLessThanOrEqual(30_000);
  },
);

it.each([
  ['five minutes', 300_000, 300_000],
  ['an hour', 3_600_000, 600_000],
])('looks again at a record of %s after its age, and after ten minutes at most', async (_age, ageMs, againMs) => {
  const q = testQueue();
  q.broken = true;
  await completed(q, 'a', 'b');
  await q.redis.hset(q.keys.job('b'), 'status', 'pending');
  await q.redis.hset(q.keys.job('a'), 'completed_at_ms', (await q.now()) - ageMs);
  await look(q);
  const again = Number(await q.redis.zscore(q.keys.keptResults, 'a')) - (await q.now());
  expect(again).toBeGreaterThan(againMs - 5_000);
  expect(again).toBeLessThanOrEqual(againMs + 5_000);
});

it.each(['completed', 'cancelled', 'gone'])('gives it its lifetime back once that job is %s', async (status) => {
  const q = testQueue({ resultTtlMs: 60_000 });
  q.broken = true;
  await completed(q, 'a', 'b');
  if (status !== 'gone') await q.redis.hset(q.keys.job('b'), 'status', status);
  await look(q);
  expect(await kept(q)).toEqual([]);
  expect(await q.redis.pttl(q.keys.job('a'))).toBeGreaterThan(50_000);
});

it('gives one that has left the history ten seconds more', async () => {
  const q = testQueue();
  await completed(q, 'a', 'gone');
  await q.redis.del(q.keys.completed);
  await look(q);
  const left = await q.redis.pttl(q.keys.job('a'));
  expect(left).toBeGreaterThan(5_000);
  expect(left).toBeLessThanOrEqual(10_000);
  q.broken = true;
});

it('gives one its lifetime back that is far back in a long history', async () => {
  const q = testQueue({ resultTtlMs: 60_000 });
  q.broken = true;
  await completed(q, 'a', 'gone');
  await q.redis.lpush(q.keys.completed, ...Array.from({ length: 10_000 }, (_, i) => `newer-${i}`));
  await look(q);
  expect(await kept(q)).toEqual([]);
  expect(await q.redis.pttl(q.keys.job('a'))).toBeGreaterThan(50_000);
});

it('keeps a record for callers as long as they may wait', async () => {
  const q = await queueWith('a');
  await q.run(q.scripts.holdResult({ id: 'a', forMs: 60_000 }));
  await q.complete((await q.claim(1))[0]!);
  await due(q, 'a');
  await look(q);
  expect(await kept(q)).toEqual(['a']);
  await q.redis.hset(q.keys.job('a'), 'awaited_until_ms', 1);
  await due(q, 'a');
  await look(q);
  expect(await kept(q)).toEqual([]);
});

it('returns the jobs of other queues, and lets go of the record once the caller says that they have ended', async () => {
  const q = testQueue();
  await completed(q, 'a', `gone\n${refTo('other', 'x')}\n${refTo('third', 'y')}`);
  const waiting = [
    { queue: 'other', id: 'x' },
    { queue: 'third', id: 'y' },
  ];
  expect(await look(q)).toEqual({ more: false, kept: [{ id: 'a', waiting }] });
  expect(await look(q)).toEqual({ more: false, kept: [] }); // not due: a process that dies in between loses nothing
  expect(await kept(q)).toEqual(['a']);
  await look(q, ['a']);
  expect(await kept(q)).toEqual([]);
});

it('forgets a record that is gone, or whose job runs again', async () => {
  const q = testQueue();
  await completed(q, 'a', 'b');
  await completed(q, 'c', 'b');
  await q.run(q.scripts.remove({ id: 'a' }));
  await q.run(q.scripts.runAgain({ id: 'c', request: 'r' }));
  await look(q);
  expect(await kept(q)).toEqual([]);
  expect(await q.redis.pttl(q.keys.job('c'))).toBe(-1);
});
