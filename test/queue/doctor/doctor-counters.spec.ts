// Counters of a queue that only this library uses, compared with each other. The doctor finds a counter that is too
// high or too low. That no sequence of calls unbalances them is shown by test/model.
import { describe, expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { expectUnchanged, type TestQueue } from '../../support/queue/queue-state.js';

const COMINGS = 'enqueued_total + redriven_total + rerun_total';
const CLAIM_ENDS = 'completed_total + retried_total + released_total + reclaimed_total';
const LEAVINGS = 'completed_total + failed_total + cancelled_total + removed_total';

/** Makes a queue with a job of each outcome: 10 came in, 8 of them have left, after 4 claims. */
async function used(): Promise<{ queue: JobQueue; state: TestQueue }> {
  const { queue, state } = coreQueue();
  await queue.enqueueMany(['completed', 'failed', 'retried'].map((id) => ({ id, payload: {} })));
  await queue.complete((await queue.claim())!, 1);
  await queue.fail((await queue.claim())!, new Error('no'), { final: true });
  await queue.deadLetters.redriveMany(['failed']);
  await queue.fail((await queue.claim())!, new Error('again'));
  await queue.fail((await queue.claim())!, new Error('no'), { final: true });
  await queue.enqueueMany(['cancelled', 'removed', 'purged'].map((id) => ({ id, payload: {} })));
  await queue.cancel('cancelled');
  await queue.remove('removed');
  await queue.purge({ confirm: queue.name });
  await queue.enqueue({}, { delayMs: 60_000 });
  await queue.clean('scheduled');
  await queue.enqueue({});
  await queue.enqueue({}, { priority: 3 });
  return { queue, state };
}

describe('the counters of a queue that only this library uses', () => {
  it('balance, for every outcome of the jobs', async () => {
    const { queue } = await used();
    expect((await queue.stats()).totals).toMatchObject({ removed: 4 });
    expect((await queue.doctor({ exclusive: true })).counts).toEqual({});
  });

  it('balance where jobs wait and run in groups', async () => {
    const { queue } = coreQueue();
    await queue.enqueueMany([1, 2, 3].map((payload) => ({ payload, group: 'g' })));
    await queue.claim();
    expect((await queue.doctor({ exclusive: true })).counts).toEqual({});
  });

  it('are no lower than the jobs that wait in groups', async () => {
    const { queue, state } = coreQueue();
    await queue.enqueueMany([1, 2, 3].map((payload) => ({ payload, group: 'g' })));
    await state.redis.hset(state.keys.stats, 'enqueued_total', '1');
    expect((await queue.doctor({ repair: true })).findings).toMatchObject([
      { subject: 'enqueued_total', found: '1' },
    ]);
    expect((await queue.stats()).totals).toMatchObject({ enqueued: 3 });
  });

  it.each([
    ['enqueued', 1, '11', 10],
    ['enqueued', -1, '9', 10],
    ['redriven', 1, '11', 10],
    ['completed', 1, '10', 11],
    ['failed', 1, '10', 11],
    ['failed', -1, '10', 9],
    ['cancelled', 1, '10', 11],
    ['removed', -1, '10', 9],
  ])('show that %s_total is off by %i, which cannot be repaired', async (counter, by, found, others) => {
    const { queue, state } = await used();
    await state.redis.hincrby(state.keys.stats, `${counter}_total`, by);
    const expected = `${others}: ${LEAVINGS}, which are ${others - 2}, and 2 jobs that wait or run`;
    const finding = { kind: 'counter', subject: COMINGS, found, expected, repaired: false };
    const audited = await expectUnchanged(state, () => queue.as(null).doctor({ exclusive: true, repair: true }));
    expect(audited.findings).toEqual([finding]);
    expect(await queue.doctor()).toMatchObject({ counts: {} });
  });

  it.each(['retried', 'released', 'reclaimed'])('show that %s_total is higher than the claims', async (counter) => {
    const { queue, state } = await used();
    await state.redis.hincrby(state.keys.stats, `${counter}_total`, 10);
    expect((await queue.doctor({ exclusive: true })).findings).toEqual([
      {
        kind: 'counter',
        subject: CLAIM_ENDS,
        found: '12',
        expected: 'at most 5, the fences that were given out',
        repaired: false,
      },
    ]);
  });

  it.each([
    ['enqueued', 2], // the jobs that wait
    ['removed', 0],
  ])('are set to the counted jobs where %s_total is not a number, and then off', async (counter, counted) => {
    const { queue, state } = await used();
    await state.redis.hset(state.keys.stats, `${counter}_total`, 'many');
    const { findings } = await queue.doctor({ exclusive: true, repair: true });
    expect(findings).toMatchObject([{ subject: `${counter}_total`, found: 'many', repaired: true }]);
    expect(await state.total(counter)).toBe(counted);
    expect((await queue.doctor({ exclusive: true })).findings).toMatchObject([
      { subject: COMINGS, repaired: false },
    ]);
  });

  it('are off, and no fault, where a client of the Redis pattern works too', async () => {
    const { queue, state } = await used();
    const { redis, keys } = state;
    const id = (await redis.rpop(keys.pending))!; // as it leaves a job that it has completed
    await redis.hset(keys.job(id), { status: 'completed', attempts: 1 });
    await redis.pexpire(keys.job(id), 300_000);
    await redis.lpush(keys.completed, id);
    expect(await queue.doctor()).toMatchObject({ counts: {} });
    expect(await queue.doctor({ exclusive: true })).toMatchObject({ counts: { counter: 1 } });
  });

  it('do not keep a deletion from its answer where one is not a number, and the doctor repairs it', async () => {
    const { queue, state } = await used();
    await state.redis.hset(state.keys.stats, 'removed_total', 'x');
    const { id } = await queue.enqueue({});
    expect(await queue.remove(id)).toBe('removed');
    expect(await queue.clean('pending')).toBe(2);
    await queue.enqueueMany([{ payload: {} }, { payload: {} }]);
    expect(await queue.purge({ confirm: queue.name })).toBe(2);
    await queue.doctor({ repair: true });
    expect((await queue.stats()).totals).toMatchObject({ removed: 0 });
  });
});
