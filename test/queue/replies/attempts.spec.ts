// The attempts of a job, as they are read: those that did not complete, then the one that did.
import { describe, expect, it } from '@jest/globals';
import { NonRetryableError } from '#queue/errors/errors.js';
import { connect } from '../../support/redis/redis.js';
import { PatternClient } from '../../support/queue/pattern-client.js';
import { leaveBroken, newQueue, startWorker } from '../../support/worker/workers.js';

describe('the attempts of a completed job', () => {
  it('end with the one that completed it: its worker, start and end', async () => {
    const queue = newQueue();
    const { id } = await queue.enqueue({});
    const [before] = await queue.list('pending');
    await queue.fail((await queue.claim({ worker: 'first' }))!, new Error('no'));
    const claim = (await queue.claim({ worker: 'second' }))!;
    await queue.complete(claim, 'done');
    const job = (await queue.get(id))!;
    expect(before!.attemptLog).toEqual([]);
    expect(job.attemptLog).toMatchObject([
      { attempt: 1, outcome: 'error', worker: 'first', error: { message: 'no' } },
      { attempt: 2, outcome: 'completed', worker: 'second', error: null },
    ]);
    expect(job.attemptLog[1]).toMatchObject({ startedAt: new Date(claim.claimedAtMs), endedAt: job.completedAt });
    expect((await queue.list('completed'))[0]!.attemptLog).toEqual(job.attemptLog);
  });

  it('are used up after a NonRetryableError of a manual consumer, unless it says otherwise', async () => {
    const queue = newQueue();
    await queue.enqueue({});
    const error = new NonRetryableError('no such address');
    expect(await queue.fail((await queue.claim())!, error, { final: false })).toBe('retry');
    expect(await queue.fail((await queue.claim())!, error)).toBe('failed');
  });

  it('are one for a plain job that a worker completed at once', async () => {
    const queue = newQueue();
    const { id } = await queue.enqueue({});
    const worker = await startWorker(queue);
    await worker.event('completed');
    const { attemptLog } = (await queue.get(id))!;
    expect(attemptLog).toMatchObject([{ attempt: 1, outcome: 'completed', worker: worker.worker.id, error: null }]);
    expect(attemptLog[0]!.endedAt.getTime()).toBeGreaterThanOrEqual(attemptLog[0]!.startedAt.getTime());
  });

  it('come on top of the 20 that are kept', async () => {
    const queue = newQueue({ maxAttempts: 1_000 });
    const { id } = await queue.enqueue({});
    for (let i = 0; i < 21; i++) {
      await queue.fail((await queue.claim())!, new Error('no'));
    }
    await queue.complete((await queue.claim())!);
    const { attemptLog } = (await queue.get(id))!;
    expect(attemptLog.map(({ attempt }) => attempt)).toEqual(Array.from({ length: 21 }, (_, i) => i + 2));
    expect(attemptLog.at(-1)!.outcome).toBe('completed');
  });

  it('are nothing while it runs, and where it failed or was cancelled only those that ended', async () => {
    const queue = newQueue({ maxAttempts: 1 });
    const [runs, failed, cancelled] = await queue.enqueueMany([{ payload: 1 }, { payload: 2 }, { payload: 3 }]);
    await queue.cancel(cancelled!.id);
    await queue.claim();
    await queue.fail((await queue.claim())!, new Error('no'));
    expect((await queue.get(runs!.id))!.attemptLog).toEqual([]);
    expect((await queue.get(failed!.id))!.attemptLog.map(({ outcome }) => outcome)).toEqual(['error']);
    expect((await queue.get(cancelled!.id))!.attemptLog).toEqual([]);
  });

  it('name no worker of ours where a client of the Redis pattern completed it', async () => {
    const redis = connect();
    const queue = newQueue({}, redis);
    leaveBroken(queue); // a foreign complete leaves its token in the hash
    const { id } = await queue.enqueue({});
    await queue.fail((await queue.claim({ worker: 'ours' }))!, new Error('no'));
    const foreign = new PatternClient(redis, connect(), queue.name);
    await foreign.complete((await foreign.claim())!, 'theirs');
    expect((await queue.get(id))!.attemptLog).toMatchObject([
      { attempt: 1, outcome: 'error', worker: 'ours' },
      { attempt: 2, outcome: 'completed', worker: null },
    ]);
  });
});
