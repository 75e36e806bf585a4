import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, queueWith } from '../../support/queue/queue-state.js';

/** Makes a job without a name, for which another worker has found one. */
async function foundElsewhere() {
  const q = await queueWith('a');
  await q.redis.hdel(q.keys.job('a'), 'name');
  const [unhandled] = await q.claim(1);
  await q.run(q.scripts.release([{ ...unhandled!, reason: 'unhandled', delayMs: 0, name: 'fax' }]));
  const [job] = await q.claim(1);
  return { q, job: job! };
}

it('names a claimed job that has no name; repeated it changes nothing', async () => {
  const q = await queueWith('a');
  await q.redis.hdel(q.keys.job('a'), 'name');
  const [job] = await q.claim(1);
  expect(await q.run(q.scripts.setName({ ...job!, name: 'email' }))).toBe(true);
  expect(await q.field('a', 'name')).toBe('email');
  expect(await expectUnchanged(q, () => q.run(q.scripts.setName({ ...job!, name: 'other' })))).toBe(false);
});

it('stores the retries of the pattern, also for a name that another worker found', async () => {
  const { q, job } = await foundElsewhere();
  expect(job).toMatchObject({ name: 'fax', nameless: true });
  const retries = { maxAttempts: 3, backoff: 0 };
  expect(await q.run(q.scripts.setName({ ...job, options: retries }))).toBe(true);
  expect(await q.job('a')).toMatchObject({ name: 'fax', foreign: '1', max_attempts: '3' });
  expect(JSON.parse((await q.field('a', 'options'))!)).toEqual(retries);
  expect(await expectUnchanged(q, () => q.run(q.scripts.setName({ ...job, options: {} })))).toBe(false);
});

it('stores no retries that the handler or the queue sets', async () => {
  const { q, job } = await foundElsewhere();
  expect(await q.run(q.scripts.setName({ ...job, options: {} }))).toBe(true);
  expect(await q.job('a')).not.toHaveProperty('options');
  expect(await q.job('a')).not.toHaveProperty('max_attempts');
});

it('I2: writes nothing under a lost claim, nor to a missing job', async () => {
  const q = testQueue();
  const lost = { id: 'gone', token: 't', name: 'email', options: {} };
  expect(await expectUnchanged(q, () => q.run(q.scripts.setName(lost)))).toBe(false);
  const job = await q.addAndClaim('a');
  await q.redis.hdel(q.keys.job('a'), 'name');
  expect(await expectUnchanged(q, () => q.run(q.scripts.setName({ ...job, token: 'x', name: 'email' })))).toBe(
    false,
  );
});
