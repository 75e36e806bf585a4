import { expect, it } from '@jest/globals';
import { NO_STATS } from '../../support/queue/no-stats.js';
import { expectUnchanged, testQueue, queueWith } from '../../support/queue/queue-state.js';

it('of an empty queue are zero, and nothing is written', async () => {
  const q = testQueue();
  expect(await expectUnchanged(q, () => q.run(q.scripts.stats()))).toEqual({ ...NO_STATS, at: expect.any(Date) });
});

it('I1: count each job where it is, foreign claims included', async () => {
  const q = await queueWith('done', 'dead', 'running', 'foreign');
  const [done, dead] = await q.claim(3);
  await q.complete(done!);
  await q.fail(dead!, { final: true });
  await q.redis.lmove(q.keys.pending, q.keys.processing, 'RIGHT', 'LEFT');
  await q.redis.hset(q.keys.job('foreign'), 'status', 'processing');
  await q.add('urgent', { priority: 3 });
  await q.add('later', { delay_ms: 60_000 });
  await q.addAll('waits', 'cancelled');
  await q.run(q.scripts.cancel({ id: 'cancelled' }));
  expect(await q.run(q.scripts.stats())).toMatchObject({
    pending: 2,
    scheduled: 1,
    processing: 2,
    foreignClaims: 1,
    completed: 1,
    failed: 1,
    cancelled: 1,
    totals: { enqueued: 8, completed: 1, failed: 1, cancelled: 1 },
  });
});

it('I5: the age of the oldest job counts from when it became claimable', async () => {
  const q = testQueue();
  const now = await q.now();
  await q.add('a');
  expect((await q.run(q.scripts.stats())).oldestPendingAgeMs).toBeLessThan(5_000);
  await q.redis.hset(q.keys.job('a'), 'enqueued_at_ms', now - 90_000);
  expect((await q.run(q.scripts.stats())).oldestPendingAgeMs).toBeGreaterThanOrEqual(90_000);
  await q.redis.hset(q.keys.job('a'), 'ready_at_ms', now - 10_000);
  const { oldestPendingAgeMs } = await q.run(q.scripts.stats());
  expect(oldestPendingAgeMs).toBeGreaterThanOrEqual(10_000);
  expect(oldestPendingAgeMs).toBeLessThan(20_000);
});

it('the age of unheld jobs leaves out those of groups that may start none', async () => {
  const q = testQueue();
  const age = async (id: string, ms: number) =>
    q.redis.hset(q.keys.job(id), 'enqueued_at_ms', (await q.now()) - ms);
  for (let i = 0; i < 7; i++) {
    await q.add(`held-${i}`, { group: `paused-${i}` });
    await q.run(q.scripts.groups.pause({ name: `paused-${i}` }));
    await age(`held-${i}`, 600_000);
  }
  const ages = async () => {
    const { oldestPendingAgeMs, oldestUnheldAgeMs } = await q.run(q.scripts.stats());
    return [oldestPendingAgeMs, oldestUnheldAgeMs].map((ms) => Math.round(ms / 10_000) * 10_000);
  };
  expect(await ages()).toEqual([600_000, 0]);
  await q.add('open', { group: 'open' });
  await age('open', 90_000);
  expect(await ages()).toEqual([600_000, 90_000]);
  await q.add('plain');
  await age('plain', 120_000);
  expect(await ages()).toEqual([600_000, 120_000]);
  await q.run(q.scripts.groups.resume({ name: 'paused-3' }));
  expect(await ages()).toEqual([600_000, 600_000]);
});

it('a delayed job does not alarm, one that is due and not promoted does', async () => {
  const q = testQueue();
  await q.add('a', { delay_ms: 60_000 });
  expect((await q.run(q.scripts.stats())).oldestPendingAgeMs).toBe(0);
  await q.makeDue('a');
  expect((await q.run(q.scripts.stats())).oldestPendingAgeMs).toBeGreaterThanOrEqual(3_600_000);
});

it('looks at the front of the lowest priority too', async () => {
  const q = testQueue();
  for (let i = 0; i < 8; i++) await q.add(`urgent-${i}`, { priority: 9 });
  await q.add('low', { priority: 1 });
  await q.add('low-2', { priority: 1 });
  await q.redis.hset(q.keys.job('low'), 'enqueued_at_ms', (await q.now()) - 90_000);
  expect((await q.run(q.scripts.stats())).oldestPendingAgeMs).toBeGreaterThanOrEqual(90_000);
});

it('counts expired claims and live workers, and returns since when the queue is paused', async () => {
  const q = await queueWith('a', 'b');
  await q.claim(2);
  await q.expireClaims('b');
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true }));
  await q.redis.zadd(q.keys.workers, (await q.now()) - 31_000, 'silent');
  await q.run(q.scripts.pause());
  const stats = await q.run(q.scripts.stats());
  expect(stats).toMatchObject({ expiredClaims: 1, workers: 1 });
  expect(Math.abs(Number(stats.pausedAt) - (await q.now()))).toBeLessThan(5_000);
});

it('I7: a missing hash at the front has no age and breaks nothing', async () => {
  const q = testQueue();
  q.broken = true; // ids without hashes
  await q.redis.rpush(q.keys.pending, 'gone');
  await q.redis.zadd(q.keys.prioritized, 1, 'gone-too');
  expect(await q.run(q.scripts.stats())).toMatchObject({ pending: 2, oldestPendingAgeMs: 0 });
});

it('name the waiting jobs that no live worker handles, the longest wait first', async () => {
  const q = testQueue();
  for (const [id, name] of [
    ['a', 'emial'],
    ['b', 'mail'],
    ['c', 'fax'],
  ] as const) {
    await q.run(q.scripts.enqueue([{ id, name, payload: '{}' }]));
  }
  const now = await q.now();
  await q.redis.hset(q.keys.job('c'), 'enqueued_at_ms', now - 90_000);
  const names = async () => (await q.run(q.scripts.stats())).unserved.map(({ name }) => name);
  expect(await names()).toEqual(['fax', 'emial', 'mail']);
  expect((await q.run(q.scripts.stats())).unserved[0]!.waitingMs).toBeGreaterThanOrEqual(90_000);
  await q.run(
    q.scripts.workers.register({
      worker: 'w1',
      serves: true,
      handlers: [{ name: 'mail', maxAttempts: 1, maxCrashes: 1 }],
    }),
  );
  expect(await names()).toEqual(['fax', 'emial']);
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: false }));
  expect(await names()).toEqual(['fax', 'emial', 'mail']);
});

it('returns when the queue was maintained, and that no process does', async () => {
  const q = testQueue();
  const look = () => q.run(q.scripts.stats());
  await q.add('a');
  expect(await look()).toMatchObject({ maintainedAt: null, maintenanceOverdue: false });
  await q.redis.hset(q.keys.job('a'), 'enqueued_at_ms', (await q.now()) - 61_000);
  expect(await look()).toMatchObject({ maintainedAt: null, maintenanceOverdue: true });
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true })); // from now on a minute to begin
  expect(await look()).toMatchObject({ maintainedAt: null, maintenanceOverdue: false });
  const longAgo = (await q.now()) - 61_000;
  await q.redis.hset(q.keys.sweep, { last_run_at_ms: longAgo, served_since_ms: longAgo - 60_000 });
  expect(await look()).toMatchObject({ maintainedAt: null, maintenanceOverdue: true });
  await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1e12, waitMs: 0 }));
  expect(await look()).toMatchObject({ maintainedAt: null, maintenanceOverdue: false });
  const before = await q.now();
  await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1e12, waitMs: 0, everyMs: 10_000 }));
  expect((await look()).maintainedAt!.getTime()).toBeGreaterThanOrEqual(before);
});

it.each([
  [1_000, 73_000],
  [5_000, 125_000],
  [10_000, 140_000],
  [30_000, 200_000],
  [600_000, 2_460_000],
])('with an interval of %d ms maintenance is overdue after %d ms', async (everyMs, overdueMs) => {
  const q = testQueue();
  await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1e12, waitMs: 0, everyMs }));
  const isOverdue = async (ms: number) => {
    const at = (await q.now()) - ms;
    await q.redis.hset(q.keys.sweep, { last_run_at_ms: at, maintained_at_ms: at });
    return (await q.run(q.scripts.stats())).maintenanceOverdue;
  };
  expect([await isOverdue(overdueMs - 1_000), await isOverdue(overdueMs + 1)]).toEqual([false, true]);
});

it('a fleet that boots after a long rest has a minute for its first maintenance', async () => {
  const q = testQueue();
  const look = () => q.run(q.scripts.stats());
  const ago = async (field: string, ms: number) => q.redis.hset(q.keys.sweep, field, (await q.now()) - ms);
  await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1e12, waitMs: 0, everyMs: 5_000 }));
  await ago('last_run_at_ms', 3_600_000);
  await ago('maintained_at_ms', 3_600_000);
  expect(await look()).toMatchObject({ maintenanceOverdue: true });
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true }));
  expect(await look()).toMatchObject({ maintenanceOverdue: false });
  await ago('served_since_ms', 126_000);
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true }));
  await q.run(q.scripts.workers.register({ worker: 'w2', serves: true })); // further workers start no further minute
  expect(await look()).toMatchObject({ maintenanceOverdue: true });
});

it('returns that no process maintains the queue, though a clock ahead wrote later times', async () => {
  const q = testQueue();
  const look = () => q.run(q.scripts.stats());
  const write = async (ms: number) => {
    const at = (await q.now()) + ms;
    await q.redis.hset(q.keys.sweep, { last_run_at_ms: at, served_since_ms: at });
  };
  await q.add('a');
  await q.redis.hset(q.keys.job('a'), 'enqueued_at_ms', (await q.now()) - 61_000);
  await write(3_600_000);
  expect(await look()).toMatchObject({ maintenanceOverdue: true });
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true })); // from now on a minute to begin
  expect(await look()).toMatchObject({ maintenanceOverdue: false });
  expect(Number(await q.redis.hget(q.keys.sweep, 'last_run_at_ms'))).toBeLessThanOrEqual(await q.now());
  expect(Number(await q.redis.hget(q.keys.sweep, 'served_since_ms'))).toBeLessThanOrEqual(await q.now());
});
