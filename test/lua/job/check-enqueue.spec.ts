import { expect, it } from '@jest/globals';
import { EnqueueRejected, type EncodedJob } from '#queue/store/enqueue-call.js';
import { failure } from '../../support/faults/failure.js';
import { expectUnchanged, testQueue, queueWith } from '../../support/queue/queue-state.js';
import { sealed } from '../../support/queue/unsealed.js';

const job = (id: string, options: EncodedJob['options']): EncodedJob => ({
  id,
  name: 'n',
  payload: sealed('1'),
  options,
});

it('refuses what an enqueue refuses, and writes nothing', async () => {
  const q = await queueWith('waits');
  const jobs = [job('a', { priority: 1 }), job('b', { after: ['waits'] }), job('c', { after: ['nobody'] })];
  await expectUnchanged(q, async () => {
    const refused = await failure<EnqueueRejected>(() => q.run(q.scripts.checkEnqueue({ jobs })));
    expect(refused).toBeInstanceOf(EnqueueRejected);
    expect(refused).toMatchObject({ job: { id: 'c' }, refusal: { reason: 'unknown', about: 'nobody' } });
    const late = job('d', { runAt: (await q.now()) + 9_000, expiresInMs: 1_000 });
    await expect(q.run(q.scripts.checkEnqueue({ jobs: [jobs[1]!, late] }))).rejects.toMatchObject({
      job: { id: 'd' },
    });
    expect(await q.run(q.scripts.checkEnqueue({ jobs: jobs.slice(0, 2) }))).toBeUndefined();
    expect(await q.run(q.scripts.checkEnqueue({ jobs: [] }))).toBeUndefined();
  });
});

it('names a key of a wrong type that these jobs use', async () => {
  const q = testQueue();
  q.broken = true;
  await q.redis.set(q.keys.prioritized, 'text');
  await expect(q.run(q.scripts.checkEnqueue({ jobs: [job('a', { priority: 1 })] }))).rejects.toThrow('wrong type');
  expect(await q.run(q.scripts.checkEnqueue({ jobs: [job('a', { delayMs: 1 })] }))).toBeUndefined();
});
