// What holds at an instant that is now, in the same ms. A rest, a pause or a window is over then. A worker that was seen
// just in time is there.
import { describe, expect, it } from '@jest/globals';
import { WORKER_SEEN_MS } from '#queue/runtime/lifetimes.js';
import { queueOn, type TestQueue } from '../support/queue/queue-state.js';
import { DEFINITION } from '../support/queue/seeded-batch.js';
import { connectClocked } from '../support/redis/clocked-redis.js';

const NOW = 1_800_000_000_000;
const WEEK = 7 * 86_400_000;

const watched = (fromMs: number, toMs: number, sinceOutageMs?: number) => ({ fromMs, toMs, sinceOutageMs });
const queueAtNow = () => queueOn(connectClocked({ nowMs: NOW }));
const claimed = async (q: TestQueue) => (await q.claim(1)).map(({ id }) => id);
const stats = (q: TestQueue) => q.run(q.scripts.stats());

describe('at the very ms of its end', () => {
  it.each<[what: string, fields: Record<string, number>]>([
    ['a rest of the queue', { rests_until_ms: NOW, rest_ms: 1_000 }],
    ['a rest of a queue with a limit', { rests_until_ms: NOW, rest_ms: 1_000, max_running: 5 }],
    ['a pause of the queue', { paused_at_ms: NOW - 5, paused_until_ms: NOW }],
  ])('%s holds no job back', async (_, fields) => {
    const q = queueAtNow();
    await q.redis.hset(q.keys.settings, fields);
    await q.add('a');
    expect(await claimed(q)).toEqual(['a']);
  });

  it('a rest or a pause of a group holds none of its jobs back', async () => {
    const q = queueAtNow();
    await q.add('a', { group: 'rests' });
    await q.add('b', { group: 'pauses' });
    await q.redis.hset(`${q.keys.groupsPrefix}state:rests`, { rests_until_ms: NOW, rest_ms: 1_000 });
    await q.redis.hset(`${q.keys.groupsPrefix}state:pauses`, { paused_at_ms: NOW - 5, paused_until_ms: NOW });
    expect([...(await claimed(q)), ...(await claimed(q))].toSorted()).toEqual(['a', 'b']);
  });

  it('a delay lets its job start', async () => {
    const q = queueAtNow();
    await q.add('a', { delay_ms: 60_000 });
    await q.redis.zadd(q.keys.scheduled, NOW, 'a');
    expect(await claimed(q)).toEqual(['a']);
  });

  it('a delay lets its job start beside a job of a group that runs one at a time', async () => {
    const q = queueAtNow();
    await q.run(q.scripts.limits.set({ groups: { maxRunning: 1 } }));
    await q.add('waits', { group: 'g' });
    await q.add('due', { delay_ms: 60_000 });
    await q.redis.zadd(q.keys.scheduled, NOW, 'due');
    expect((await q.claim(2)).map(({ id }) => id).toSorted()).toEqual(['due', 'waits']);
  });

  it('the time to start is over', async () => {
    const q = queueAtNow();
    await q.add('a', { expires_in_ms: 60_000 });
    await q.redis.hset(q.keys.job('a'), 'expires_at_ms', NOW);
    const { jobs, refused } = await q.run(q.claimCall(1));
    expect([jobs, refused]).toMatchObject([[], [{ id: 'a' }]]);
  });

  it('a claim has expired', async () => {
    const q = queueAtNow();
    await q.addAndClaim('a');
    await q.redis.zadd(q.keys.claims, NOW, 'a');
    expect((await stats(q)).expiredClaims).toBe(1);
    await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1e12, waitMs: 0 }));
    expect(await q.pending()).toEqual(['a']);
  });
});

describe('a reclaim after a gap waits for the heartbeats of workers', () => {
  const [GAP, HEARTBEAT, RECONNECT] = [60_000, 10_000, 2_500];
  const away = { last_run_at_ms: NOW - GAP - 1 };
  const there = { last_run_at_ms: NOW };

  it.each<
    [what: string, reclaims: boolean, sweep: Record<string, number>, looks: ReturnType<typeof watched> | undefined]
  >([
    ['a sweep just before the gap', true, { last_run_at_ms: NOW - GAP }, undefined],
    ['a sweep before it', false, away, undefined],
    ['looks for a heartbeat', true, away, watched(NOW - HEARTBEAT, NOW)],
    ['looks for less than a heartbeat', false, away, watched(NOW - HEARTBEAT + 1, NOW)],
    ['looks that ended just before the gap', true, away, watched(1, NOW - GAP)],
    ['looks that ended before it', false, away, watched(1, NOW - GAP - 1)],
    ['looks of a time that has not come', false, away, watched(1, NOW + 1)],
    ['an outage that ended a heartbeat and a reconnect ago', true, there, watched(1, NOW, HEARTBEAT + RECONNECT)],
    ['an outage that ended after that', false, there, watched(1, NOW, HEARTBEAT + RECONNECT - 1)],
    ['a wait that ends now', true, { ...there, hold_until_ms: NOW }, undefined],
    ['a wait that ends later', false, { ...there, hold_until_ms: NOW + 1 }, undefined],
    ['two waits before this one', false, { ...away, holds: 2 }, undefined],
    ['three waits before this one', true, { ...away, holds: 3 }, undefined],
  ])('%s: reclaims %s', async (_, reclaims, sweep, looks) => {
    const q = queueAtNow();
    await q.addAndClaim('a');
    await q.redis.zadd(q.keys.claims, NOW - 1, 'a');
    await q.redis.hset(q.keys.sweep, sweep);
    const call = q.scripts.sweep.reclaim({ limit: 10, gapMs: GAP, waitMs: HEARTBEAT, watched: looks });
    expect((await q.run(call)).reclaimed).toHaveLength(reclaims ? 1 : 0);
  });
});

describe('in the very ms of the look', () => {
  it('a worker and its names are there that were seen just in time', async () => {
    const q = queueAtNow();
    await q.add('a');
    await q.redis.zadd(q.keys.workers, NOW - WORKER_SEEN_MS, 'w');
    await q.redis.zadd(q.keys.names, NOW - WORKER_SEEN_MS, q.name);
    expect(await stats(q)).toMatchObject({ workers: 1, unserved: [] });
    await q.redis.zadd(q.keys.names, NOW - WORKER_SEEN_MS - 1, q.name);
    expect((await stats(q)).unserved).toMatchObject([{ name: q.name }]);
  });

  it.each(['served_since_ms', 'maintained_at_ms', 'last_run_at_ms'])(
    'maintenance is not overdue by its %s',
    async (field) => {
      const q = queueAtNow();
      await q.redis.zadd(q.keys.workers, NOW, 'w');
      await q.redis.hset(q.keys.sweep, { last_run_at_ms: NOW - WEEK, every_ms: 5_000, [field]: NOW });
      expect((await stats(q)).maintenanceOverdue).toBe(false);
    },
  );

  it('a batch that nobody has sealed is a week old, and stays', async () => {
    const q = queueAtNow();
    await q.run(q.scripts.batches.create(DEFINITION));
    const maintain = async (ageMs: number) => {
      await q.redis.hset(q.keys.batchRecord('b'), 'created_at_ms', NOW - ageMs);
      await q.run(q.scripts.sweep.maintainBatches({ limit: 10, all: true }));
      return q.redis.exists(q.keys.batchRecord('b'));
    };
    expect([await maintain(WEEK), await maintain(WEEK + 1)]).toEqual([1, 0]);
  });
});
