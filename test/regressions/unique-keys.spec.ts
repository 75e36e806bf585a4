// A key that was free while its job ran may belong to another job when the first one ends.
import { describe, expect, it } from '@jest/globals';
import type { ClaimedJob } from '#queue/model/job.js';
import type { JobQueue } from '#queue/job-queue.js';
import { coreQueue } from '../support/queue/core-queue.js';
import type { TestQueue } from '../support/queue/queue-state.js';

const PENDING = { unique: { key: 'k', for: 'pending' } } as const;

const ENDS: Record<string, (queue: JobQueue, older: ClaimedJob, state: TestQueue) => Promise<unknown>> = {
  'has completed': (queue, older) => queue.complete(older),
  'fails for good': (queue, older) => queue.fail(older, new Error('no'), { final: true }),
  'is retried and completes': async (queue, older) => {
    await queue.fail(older, new Error('no'));
    const jobs = await queue.claimMany(2);
    await queue.release(jobs.find(({ id }) => id === 'newer')!);
    await queue.complete(jobs.find(({ id }) => id === 'older')!);
  },
  'is cancelled': async (queue, older) => {
    await queue.cancel('older');
    await queue.fail(older, new Error('aborted'));
  },
  'crashes for the last time': async (queue, _older, state) => {
    await state.expireClaims('older');
    await queue.reclaim();
  },
  'is a dead letter that is discarded': async (queue, older) => {
    await queue.fail(older, new Error('no'), { final: true });
    await queue.deadLetters.discard('older');
  },
};

describe('a unique key stays with the newer job when the older one', () => {
  it.each(Object.entries(ENDS))('%s', async (_, end) => {
    const { queue, state } = coreQueue({ maxCrashes: 1 });
    await queue.enqueue(1, { ...PENDING, id: 'older' });
    const older = (await queue.claim())!;
    expect((await queue.enqueue(2, { ...PENDING, id: 'newer' })).outcome).toBe('new');
    await end(queue, older, state);
    expect(await queue.enqueue(3, PENDING)).toMatchObject({ id: 'newer', outcome: 'kept' });
  });

  it('held it for a time, and the time ends', async () => {
    const { queue, state } = coreQueue();
    await queue.enqueue(1, { unique: { key: 'k', for: { ms: 60_000 } }, id: 'older' });
    await state.redis.zadd(state.keys.uniqueExpiries, 'XX', 1, 'k');
    expect((await queue.enqueue(2, { unique: { key: 'k', for: 'unfinished' }, id: 'newer' })).outcome).toBe('new');
    await queue.reclaim();
    await queue.complete((await queue.claim())!);
    expect(await queue.enqueue(3, PENDING)).toMatchObject({ id: 'newer', outcome: 'kept' });
  });
});
