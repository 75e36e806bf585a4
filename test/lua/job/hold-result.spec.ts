import { expect, it } from '@jest/globals';
import { expectUnchanged, queueWith } from '../../support/queue/queue-state.js';

it('keeps the record of an unfinished job for its caller, the longer of several holds', async () => {
  const q = await queueWith('a');
  expect(await q.run(q.scripts.holdResult({ id: 'a', forMs: 60_000 }))).toBe(true);
  const until = Number(await q.field('a', 'awaited_until_ms'));
  expect(until - (await q.now())).toBeGreaterThan(50_000);
  expect(await q.field('a', 'dependents')).toBe('\r');
  expect(await q.run(q.scripts.holdResult({ id: 'a', forMs: 1_000 }))).toBe(true);
  expect(Number(await q.field('a', 'awaited_until_ms'))).toBe(until);
  expect(await q.field('a', 'dependents')).toBe('\r');
  expect(await q.run(q.scripts.get({ id: 'a' }))).not.toHaveProperty('followedBy');
  await q.complete((await q.claim(1))[0]!);
  expect(await q.redis.pttl(q.keys.job('a'))).toBe(-1);
  expect(await q.ranked(q.keys.keptResults)).toEqual(['a']);
});

it('of a job that is claimed already is found by its completion', async () => {
  const q = await queueWith('a');
  const [a] = await q.claim(1);
  expect(a!.plain).toBe(true);
  await q.run(q.scripts.holdResult({ id: 'a', forMs: 60_000 }));
  expect(await q.run(q.scripts.complete([{ ...a!, result: '1' }]))).toMatchObject({ followed: [0] });
  await q.run(q.scripts.complete([{ ...a!, plain: false, result: '1' }]));
  expect(await q.ranked(q.keys.keptResults)).toEqual(['a']);
});

it('keeps the record of a cancelled job, too', async () => {
  const q = await queueWith('a');
  await q.run(q.scripts.holdResult({ id: 'a', forMs: 60_000 }));
  await q.run(q.scripts.cancel({ id: 'a' }));
  expect(await q.redis.pttl(q.keys.job('a'))).toBe(-1);
});

it('does nothing to a job that has ended, or is unknown', async () => {
  const q = await queueWith('a');
  await q.complete((await q.claim(1))[0]!);
  await expectUnchanged(q, async () => {
    expect(await q.run(q.scripts.holdResult({ id: 'a', forMs: 60_000 }))).toBe(false);
    expect(await q.run(q.scripts.holdResult({ id: 'nobody', forMs: 60_000 }))).toBe(false);
  });
});
