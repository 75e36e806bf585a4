// The snapshot of a real Redis at the end, with planted leftovers.
import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { QueueKeys } from '#queue/scripts/queue-keys.js';
import { Sweeper } from '#worker/maintenance/sweeper.js';
import { coreQueue } from '../../../test/support/queue/core-queue.js';
import { violations } from '../../../test/support/invariants/invariants.js';
import { finalAudit } from '../run/ending.js';
import { takeSnapshot } from './snapshot.js';

/** The job that waits. */
interface Job {
  redis: Redis;
  keys: QueueKeys;
  id: string;
  key: string;
}

/** Makes a queue with a pending and a completed job, and returns its snapshot. */
async function seeded() {
  const { queue, state } = coreQueue();
  state.broken = true;
  const waits = await queue.enqueue({ p: 1, n: 0, kind: 'later' }, { delayMs: 3_600_000 });
  await queue.enqueue({ p: 1, n: 1, kind: 'plain' });
  const job = (await queue.claim())!;
  await queue.complete(job, job.fence);
  const look = () => takeSnapshot({ holderOf: () => Promise.resolve(state.redis) }, [queue]);
  return { queue, state, keys: state.keys, redis: state.redis, waits: waits.id, fence: job.fence, look };
}

describe('the final state', () => {
  it('holds each job in its place, and nothing to object to', async () => {
    const { look, queue, fence } = await seeded();
    const { jobs, totals, faults } = await look();
    expect(faults).toEqual([]);
    expect(jobs).toMatchObject([
      { place: 'waiting', work: { p: 1, n: 0 } },
      { place: 'completed', work: { p: 1, n: 1 }, resultFence: fence },
    ]);
    expect(totals).toMatchObject({ enqueued: 2, completed: 1 });
    expect(await finalAudit([queue])).toEqual([]);
  });

  it('shows a misplaced job until it is repaired', async () => {
    const { look, queue, keys, redis, waits } = await seeded();
    await redis.zrem(keys.scheduled, waits);
    expect((await look()).faults).toContainEqual(`I1: ${waits} is nowhere, and lives on (-1 ms)`);
    expect(await finalAudit([queue])).toEqual([expect.stringMatching(`^doctor: orphan ${waits} at the end`)]);
    await queue.doctor({ repair: true });
    expect((await look()).faults).toEqual([]);
    expect(await finalAudit([queue])).toEqual([]);
  });

  it.each(['cancel', 'remove', 'reschedule'] as const)(
    'still shows it after a %s of it: only the doctor repairs it',
    async (verb) => {
      const { look, queue, keys, redis, waits } = await seeded();
      await redis.zrem(keys.scheduled, waits);
      await (verb === 'reschedule' ? queue.reschedule(waits, { delayMs: 0 }) : queue[verb](waits));
      const logger = { log: () => {}, warn: () => {}, error: () => {} };
      await new Sweeper([queue], 1_000, logger).runOnce();
      expect((await look()).faults).toContainEqual(expect.stringMatching(`^I1: ${waits} is nowhere`));
    },
  );

  it('shows a job in two places, and one without its hash', async () => {
    const { look, keys, redis, waits } = await seeded();
    await redis.lpush(keys.pending, waits, 'ghost');
    const { faults } = await look();
    expect(faults).toContainEqual(`I1: ${waits} is in pending and in scheduled`);
    expect(faults).toContainEqual('I1: ghost is in pending and has no hash');
  });

  it.each<[what: string, fault: string, plant: (job: Job) => Promise<unknown>]>([
    [
      'a job whose status is not that of its place',
      'I1: $id is in scheduled and its status is pending',
      ({ redis, key }) => redis.hset(key, 'status', 'pending'),
    ],
    [
      'a claim without a token',
      'I2: $id is claimed without a token',
      async ({ redis, key, keys, id }) => {
        await redis.zrem(keys.scheduled, id);
        await redis.zadd(keys.claims, Date.now(), id);
        await redis.hset(key, 'status', 'processing', 'claim_token', '');
      },
    ],
    [
      'a token of a job that is not claimed',
      'I2: $id is in scheduled and has the token stale',
      ({ redis, key }) => redis.hset(key, 'claim_token', 'stale'),
    ],
    [
      'more attempts than there may be',
      'I6: $id has 3 of 2 attempts',
      ({ redis, key }) => redis.hset(key, 'attempts', 3, 'max_attempts', 2),
    ],
    [
      'an attempt that was refunded twice',
      'I6: $id has -1 attempts',
      ({ redis, key }) => redis.hset(key, 'attempts', -1),
    ],
    [
      'a job that would expire while it waits',
      'I1: $id is in scheduled and would expire',
      ({ redis, key }) => redis.pexpire(key, 60_000),
    ],
  ])('shows %s', async (_, fault, plant) => {
    const { look, keys, redis, waits } = await seeded();
    await plant({ redis, keys, id: waits, key: keys.job(waits) });
    expect((await look()).faults).toContainEqual(fault.replace('$id', waits));
  });

  it('shows counts that differ from the places', async () => {
    const { state } = await seeded();
    const scripts = Object.create(state.scripts, {
      stats: {
        value: () => ({ ...state.scripts.stats(), decode: () => ({ pending: 7, scheduled: 1, completed: 1 }) }),
      },
    }) as typeof state.scripts;
    expect(await violations(state.redis, scripts)).toContainEqual('I1: stats count 7 pending of 0');
  });

  it('shows a unique key without an owner, and a key that would stay forever', async () => {
    const { look, keys, redis } = await seeded();
    await redis.hset(keys.unique, 'stuck', 'nobody');
    const stray = `${keys.jobPrefix.slice(0, -'job:'.length)}batch:stray`;
    await redis.set(stray, 1);
    const { faults } = await look();
    expect(faults).toContainEqual('left over: the unique key stuck is held by nobody, which is gone');
    expect(faults).toContainEqual(`left over: ${stray} would stay for ever`);
  });
});
