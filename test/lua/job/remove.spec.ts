import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, queueWith, claimedJob } from '../../support/queue/queue-state.js';

it.each([
  ['pending', {}],
  ['prioritized', { priority: 5 }],
  ['scheduled', { delay_ms: 60_000 }],
])('deletes a %s job with all its traces', async (_place, options) => {
  const q = testQueue();
  await q.add('a', { ...options, unique: 'k', unique_for: 'unfinished' });
  await q.takeWake();
  expect(await q.run(q.scripts.remove({ id: 'a' }))).toBe('removed');
  expect(Object.keys(await q.snapshot()).filter((key) => key !== 'stats' && key !== 'sequence')).toEqual([]);
});

it('deletes with a job the time for which it holds its unique key', async () => {
  const q = testQueue();
  await q.add('a', { unique: 'k', unique_for: 60_000 });
  await q.takeWake();
  expect(await q.run(q.scripts.remove({ id: 'a' }))).toBe('removed');
  expect(Object.keys(await q.snapshot()).filter((key) => key !== 'stats' && key !== 'sweep')).toEqual([]);
});

it.each(['completed', 'failed', 'cancelled'] as const)('deletes a %s job with all its traces', async (status) => {
  const { q, job } = await claimedJob('a');
  if (status === 'completed') await q.complete(job, '1');
  if (status === 'cancelled') await q.run(q.scripts.cancel({ id: 'a' }));
  if (status !== 'completed') await q.fail(job, { final: true });
  expect(await q.status('a')).toBe(status);
  expect(await q.run(q.scripts.remove({ id: 'a' }))).toBe('removed');
  const snapshot = await q.snapshot();
  for (const key of ['job:a', 'dead', 'completed', 'failed', 'cancelled'])
    expect(snapshot).not.toHaveProperty([key]);
});

it('refuses a claimed job, ours or foreign', async () => {
  const q = await queueWith('ours', 'foreign');
  await q.claim(1);
  await q.redis.lmove(q.keys.pending, q.keys.processing, 'RIGHT', 'LEFT');
  q.broken = true; // as a foreign client leaves it between its two steps
  const answers = await expectUnchanged(q, async () => [
    await q.run(q.scripts.remove({ id: 'ours' })),
    await q.run(q.scripts.remove({ id: 'foreign' })),
  ]);
  expect(answers).toEqual(['processing', 'processing']);
});

it('spares a job whose status is another by now', async () => {
  const q = await queueWith('a', 'b');
  await q.claim(1);
  await q.run(q.scripts.cancel({ id: 'b' }));
  const answers = await expectUnchanged(q, async () => [
    await q.run(q.scripts.remove({ id: 'a', ifStatus: 'pending' })),
    await q.run(q.scripts.remove({ id: 'b', ifStatus: 'pending' })),
    await q.run(q.scripts.remove({ id: 'c', ifStatus: 'pending' })),
  ]);
  expect(answers).toEqual(['changed', 'changed', 'missing']);
  expect(await q.run(q.scripts.remove({ id: 'b', ifStatus: 'cancelled' }))).toBe('removed');
});

it('I3: repeated it answers missing and changes nothing', async () => {
  const q = await queueWith('a', 'b');
  await q.run(q.scripts.remove({ id: 'a' }));
  expect(await expectUnchanged(q, () => q.run(q.scripts.remove({ id: 'a' })))).toBe('missing');
  expect(await q.pending()).toEqual(['b']);
});

it('leaves a unique key that another job owns', async () => {
  const q = testQueue();
  await q.addAndClaim('a', { unique: 'k', unique_for: 'pending' });
  await q.add('b', { unique: 'k', unique_for: 'pending' });
  await q.expireClaims('a');
  await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1e12, waitMs: 0 }));
  await q.run(q.scripts.remove({ id: 'a' }));
  expect(await q.redis.hgetall(q.keys.unique)).toEqual({ k: 'b' });
});
