import { expect, it } from '@jest/globals';
import { connect } from '../../support/redis/redis.js';
import { expectUnchanged, testQueue, claimedJob } from '../../support/queue/queue-state.js';

it('stores the progress of a current claim; repeated it is the same', async () => {
  const { q, job } = await claimedJob('a');
  const call = q.scripts.progress({ claim: job, progress: '{"percent":40}' });
  expect(await q.run(call)).toBe(true);
  expect(await q.field('a', 'progress')).toBe('{"percent":40}');
  expect(await expectUnchanged(q, () => q.run(call))).toBe(true);
});

it('I2: is refused to a lost claim and to a missing job', async () => {
  const { q, job } = await claimedJob('a');
  await q.complete(job);
  const answers = await expectUnchanged(q, async () => [
    await q.run(q.scripts.progress({ claim: job, progress: '1' })),
    await q.run(q.scripts.progress({ claim: { id: 'missing', token: 't' }, progress: '1' })),
  ]);
  expect(answers).toEqual([false, false]);
});

it('is published to subscribers', async () => {
  const q = testQueue();
  const subscriber = connect();
  await subscriber.subscribe(q.keys.events);
  const heard = new Promise<string>((resolve) => {
    subscriber.once('message', (_channel: string, message: string) => resolve(message));
  });
  const job = await q.addAndClaim('a');
  await q.run(q.scripts.progress({ claim: job, progress: '1' }));
  expect(JSON.parse(await heard)).toEqual({ id: 'a', status: 'progress', name: q.name, attempt: 1, progress: 1 });
});
