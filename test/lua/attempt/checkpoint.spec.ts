import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, claimedJob } from '../../support/queue/queue-state.js';

const failure = { error: { name: 'E', message: 'no' }, final: false, backoffMs: 0 };

it('stores a checkpoint that the next attempt finds: after an error, a release and a crash', async () => {
  const q = testQueue();
  let job = await q.addAndClaim('a');
  expect(job.checkpoint).toBeUndefined();
  expect(await q.run(q.scripts.checkpoint({ claim: job, checkpoint: '{"row":1}' }))).toBe(true);
  await q.run(q.scripts.release([{ ...job, reason: 'interruption', delayMs: 0 }]));
  [job] = (await q.claim(1)) as [typeof job];
  expect(job).toMatchObject({ attempt: 1, checkpoint: { row: 1 } });
  await q.run(q.scripts.fail([{ ...job, ...failure }]));
  [job] = (await q.claim(1)) as [typeof job];
  expect(job).toMatchObject({ attempt: 2, checkpoint: { row: 1 } });
  await q.run(q.scripts.checkpoint({ claim: job, checkpoint: '0' }));
  await q.expireClaims('a');
  await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1e12, waitMs: 0 }));
  [job] = (await q.claim(1, { slots: 1 })) as [typeof job];
  expect(job.checkpoint).toBe(0);
});

it('I3: a repeated claim brings it again', async () => {
  const { q, job } = await claimedJob('a');
  await q.run(q.scripts.checkpoint({ claim: job, checkpoint: '7' }));
  await q.run(q.scripts.release([{ ...job, reason: 'interruption', delayMs: 0 }]));
  const call = q.claimCall(1);
  const first = await q.run(call);
  expect(first.jobs[0]).toMatchObject({ checkpoint: 7 });
  const again = await expectUnchanged(q, () => q.run(call));
  expect(again.jobs[0]).toMatchObject({ checkpoint: 7, fence: first.jobs[0]!.fence });
});

it('is refused to a claim that is lost', async () => {
  const { q, job } = await claimedJob('a');
  await q.run(q.scripts.release([{ ...job, reason: 'interruption', delayMs: 0 }]));
  expect(await expectUnchanged(q, () => q.run(q.scripts.checkpoint({ claim: job, checkpoint: '1' })))).toBe(false);
});

it('goes with the payload that it was made of', async () => {
  const { q, job } = await claimedJob('a');
  await q.run(q.scripts.checkpoint({ claim: job, checkpoint: '1' }));
  await q.run(q.scripts.fail([{ ...job, ...failure, final: true }]));
  await q.run(q.scripts.deadLetters.redrive({ ids: ['a'], payload: '2' }));
  expect(await q.field('a', 'checkpoint')).toBeNull();
});
