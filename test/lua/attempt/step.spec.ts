import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, claimedJob } from '../../support/queue/queue-state.js';

const line = (i: number, result: string) => `s${i}\t1\t1\t${result}\n`;
const failure = { error: { name: 'E', message: 'no' }, final: false, backoffMs: 0 };

it('records a step once, which later attempts find: after a release, an error and a crash', async () => {
  const q = testQueue();
  let job = await q.addAndClaim('a');
  expect(await q.run(q.scripts.step({ claim: job }))).toEqual([]);
  expect(await q.run(q.scripts.step({ claim: job, step: { name: 'charge', result: '{"n":1}' } }))).toBe('recorded');
  await expectUnchanged(q, async () => {
    expect(await q.run(q.scripts.step({ claim: job, step: { name: 'charge', result: '2' } }))).toBe('recorded');
  });
  await q.run(q.scripts.release([{ ...job, reason: 'interruption', delayMs: 0 }]));
  [job] = (await q.claim(1)) as [typeof job];
  await q.run(q.scripts.fail([{ ...job, ...failure }]));
  [job] = (await q.claim(1)) as [typeof job];
  expect(await q.run(q.scripts.step({ claim: job, step: { name: 'mail', result: '' } }))).toBe('recorded');
  await q.expireClaims('a');
  await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1e12, waitMs: 0 }));
  [job] = (await q.claim(1, { slots: 1 })) as [typeof job];
  expect(await q.run(q.scripts.step({ claim: job }))).toMatchObject([
    { name: 'charge', attempt: 1, result: '{"n":1}', at: expect.any(Date) },
    { name: 'mail', attempt: 2, result: '' },
  ]);
});

it('takes a name that another one begins with, ends with or matches for a step of its own', async () => {
  const { q, job } = await claimedJob('a');
  const names = ['email', 'mail', 'e', 'em', 'email-2', 'il', 'e.ail', '%w+', 'l 1', '1'];
  for (const name of names) {
    expect(await q.run(q.scripts.step({ claim: job, step: { name, result: JSON.stringify(name) } }))).toBe(
      'recorded',
    );
  }
  expect(await q.run(q.scripts.step({ claim: job }))).toMatchObject(
    names.map((name) => ({ name, result: JSON.stringify(name) })),
  );
});

it('is refused to a claim that is lost, also to read', async () => {
  const { q, job } = await claimedJob('a');
  await q.run(q.scripts.release([{ ...job, reason: 'interruption', delayMs: 0 }]));
  await expectUnchanged(q, async () => {
    expect(await q.run(q.scripts.step({ claim: job, step: { name: 'charge', result: '1' } }))).toBe('lost');
    expect(await q.run(q.scripts.step({ claim: job }))).toBe('lost');
    expect(await q.run(q.scripts.step({ claim: { ...job, token: '' } }))).toBe('lost');
  });
});

it('bounds the number and the bytes of the steps of a job', async () => {
  const { q, job } = await claimedJob('a');
  await q.redis.hset(q.keys.job('a'), 'steps', Array.from({ length: 256 }, (_, i) => line(i, '1')).join(''));
  expect(await q.run(q.scripts.step({ claim: job, step: { name: 'more', result: '1' } }))).toBe('steps');
  await q.redis.hset(q.keys.job('a'), 'steps', line(0, `"${'x'.repeat(1_048_500)}"`));
  expect(await q.run(q.scripts.step({ claim: job, step: { name: 'more', result: `"${'x'.repeat(100)}"` } }))).toBe(
    'bytes',
  );
  expect(await q.run(q.scripts.step({ claim: job, step: { name: 's0', result: '1' } }))).toBe('recorded');
});

it('goes with the payload that it was made of, and stays through a redrive', async () => {
  const q = testQueue();
  let job = await q.addAndClaim('a');
  await q.run(q.scripts.step({ claim: job, step: { name: 'charge', result: '1' } }));
  await q.run(q.scripts.fail([{ ...job, ...failure, final: true }]));
  await q.run(q.scripts.deadLetters.redrive({ ids: ['a'], payload: '' }));
  [job] = (await q.claim(1)) as [typeof job];
  expect(await q.run(q.scripts.step({ claim: job }))).toHaveLength(1);
  await q.run(q.scripts.fail([{ ...job, ...failure, final: true }]));
  await q.run(q.scripts.deadLetters.redrive({ ids: ['a'], payload: '2' }));
  expect(await q.field('a', 'steps')).toBeNull();
});
