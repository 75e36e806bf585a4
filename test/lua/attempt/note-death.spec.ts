import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, type TestQueue, claimedJob } from '../../support/queue/queue-state.js';

const DEATH = 'Error: left behind';

/** Lets the worker die, and a sweep find the claim. */
async function die(q: TestQueue): Promise<void> {
  await q.expireClaims('a');
  await q.run(q.scripts.sweep.reclaim({ limit: 500, gapMs: Number.MAX_SAFE_INTEGER, waitMs: 0 }));
}

it('gives the crash of the claim its text, also the last one; repeated it changes nothing', async () => {
  const q = testQueue({ maxCrashes: 1 });
  const job = await q.addAndClaim('a');
  expect(await q.run(q.scripts.noteDeath({ claims: [job], error: DEATH }))).toBe(1);
  expect(await expectUnchanged(q, () => q.run(q.scripts.noteDeath({ claims: [job], error: DEATH })))).toBe(1);
  const diedAt = Number(await q.field('a', 'died_at_ms'));
  expect(Math.abs((await q.now()) - diedAt)).toBeLessThan(60_000);
  await die(q);
  const message = 'claim expired (worker worker-1; uncaught error in its process: Error: left behind)';
  expect(await q.attemptLog('a')).toMatchObject([{ outcome: 'crash', error: { message, diedAt } }]);
  expect((await q.run(q.scripts.get({ id: 'a' })))!.attemptLog).toMatchObject([{ diedAt: new Date(diedAt) }]);
  expect(await q.field('a', 'last_error')).toMatch(`${message}: its worker died 1 times while it ran`);
  expect(await q.job('a')).not.toHaveProperty('death');
  expect(await q.job('a')).not.toHaveProperty('died_at_ms');
});

it('says nothing about a later claim, whose process had no such error', async () => {
  const { q, job } = await claimedJob('a');
  await q.run(q.scripts.noteDeath({ claims: [job], error: DEATH }));
  await q.run(q.scripts.release([{ ...job, reason: 'interruption', delayMs: 0 }]));
  await q.claim(1);
  await die(q);
  const [, crash] = await q.attemptLog('a');
  expect(crash).toMatchObject({ outcome: 'crash', error: { message: 'claim expired (worker worker-1)' } });
  expect(crash!.error).not.toHaveProperty('diedAt');
});

it('I2: writes nothing for a claim that is lost, nor for a job that is gone', async () => {
  const { q, job } = await claimedJob('a');
  const lost = [
    { ...job, token: 'x' },
    { id: 'gone', token: 't' },
  ];
  expect(await expectUnchanged(q, () => q.run(q.scripts.noteDeath({ claims: lost, error: DEATH })))).toBe(0);
});
