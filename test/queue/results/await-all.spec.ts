import { describe, expect, it } from '@jest/globals';
import { awaitAll } from '#queue/results/awaited-results.js';
import { InvalidOptionError, JobFailedError, JobTimeoutError } from '#queue/errors/errors.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { eventually } from '../../support/faults/wait.js';

describe('awaitAll', () => {
  it('resolves with the results in the order of the handles', async () => {
    const { queue } = coreQueue();
    const handles = await queue.enqueueMany<number>([{ payload: 1 }, { payload: 2 }, { payload: 3 }]);
    const waiting = awaitAll(handles, { timeoutMs: 15_000 });
    for (const job of (await queue.claimMany(3)).toReversed()) {
      await queue.complete(job, Number(job.payload) * 10);
    }
    const results: number[] = await waiting;
    expect(results).toEqual([10, 20, 30]);
    expect(await awaitAll([])).toEqual([]);
  });

  it('rejects with the first that fails, and listens for no other any more', async () => {
    const { queue, state } = coreQueue({ maxAttempts: 1 });
    const handles = await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
    const waiting = awaitAll(handles, { timeoutMs: 60_000 }).catch((error: unknown) => error);
    await queue.fail((await queue.claim())!, new Error('no'));
    const error = await waiting;
    expect(error).toBeInstanceOf(JobFailedError);
    expect(error).toMatchObject({ jobId: handles[0]!.id });
    const listeners = async () => Number((await state.redis.pubsub('NUMSUB', state.keys.events))[1]);
    await eventually(async () => (await listeners()) === 0);
  });

  it('rejects when the time is over', async () => {
    const { queue } = coreQueue();
    const handles = await queue.enqueueMany([{ payload: 1 }]);
    await expect(awaitAll(handles, { timeoutMs: 0 })).rejects.toBeInstanceOf(JobTimeoutError);
    await expect(awaitAll(handles, { timeoutMs: -1 })).rejects.toBeInstanceOf(InvalidOptionError);
  });
});

it('the signal of a wait ends it with its reason, before and while it waits', async () => {
  const { queue, state } = coreQueue();
  const handle = await queue.enqueue(1);
  const ended = new AbortController();
  const waiting = handle.result({ timeoutMs: 60_000, signal: ended.signal }).catch((error: unknown) => error);
  await eventually(async () => Number((await state.redis.pubsub('NUMSUB', state.keys.events))[1]) === 1);
  const reason = new Error('the caller hung up');
  ended.abort(reason);
  expect(await waiting).toBe(reason);
  await expect(handle.result({ signal: ended.signal })).rejects.toBe(reason);
  expect((await handle.get())!.status).toBe('pending');
});

it('warns of no leak, however many jobs it waits for', async () => {
  const { queue } = coreQueue();
  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on('warning', note);
  const handles = await queue.enqueueMany(Array.from({ length: 20 }, (_, i) => ({ payload: i })));
  const waiting = awaitAll(handles);
  for (const job of await queue.claimMany(20)) {
    await queue.complete(job);
  }
  await waiting;
  process.off('warning', note);
  expect(warnings).toEqual([]);
});
