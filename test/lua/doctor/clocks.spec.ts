import { describe, expect, it } from '@jest/globals';
import { queueOn, type TestQueue } from '../../support/queue/queue-state.js';
import { connectClocked } from '../../support/redis/clocked-redis.js';
import { examined } from './examined.js';

const HOUR = 3_600_000;

it('finds instants that the clock of now cannot have made, and writes their bounds', async () => {
  const { q, doctor } = examined();
  await q.addAndClaim('a');
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true }));
  expect(await q.run(doctor.clocks({ repair: false }))).toEqual({ more: false, faults: [] });
  const ahead = (await q.now()) + HOUR;
  await q.redis.zadd(q.keys.claims, ahead, 'a');
  await q.redis.zadd(q.keys.workers, ahead, 'w1');
  await q.redis.hset(q.keys.sweep, 'last_run_at_ms', ahead);
  await q.redis.hset(q.keys.settings, { rest_ms: 1_000, rests_until_ms: ahead });
  const { faults } = await q.run(doctor.clocks({ repair: false }));
  const latest = (await q.now()) + 2_000;
  expect(faults.map(({ subject }) => subject)).toEqual([
    `${q.keys.claims} a`,
    `${q.keys.workers} w1`,
    `${q.keys.sweep} last_run_at_ms`,
    `${q.keys.settings} rests_until_ms`,
  ]);
  expect(faults[1]).toMatchObject({ kind: 'clock', found: new Date(ahead).toISOString() });
  expect((await q.run(doctor.clocks({ repair: true }))).faults).toHaveLength(4);
  expect((await q.run(doctor.clocks({ repair: true }))).faults).toEqual([]);
  expect(Number(await q.redis.zscore(q.keys.workers, 'w1'))).toBeLessThan(latest);
  expect(Number(await q.redis.hget(q.keys.sweep, 'last_run_at_ms'))).toBeLessThan(latest);
  expect(Number(await q.redis.hget(q.keys.settings, 'rests_until_ms'))).toBeLessThan(latest + 1_000);
});

it('reads slices of a set, and says that more follow', async () => {
  const { q, doctor } = examined();
  const ahead = (await q.now()) + HOUR;
  await q.redis.zadd(q.keys.workers, ...Array.from({ length: 150 }, (_, i) => [ahead, `w${i}`]).flat());
  const first = await q.run(doctor.clocks({ repair: false }));
  expect(first).toMatchObject({ more: true, faults: { length: 100 } });
  expect(await q.run(doctor.clocks({ repair: false, offset: 100 }))).toMatchObject({
    more: false,
    faults: { length: 50 },
  });
});

describe('the latest instant that the clock of now can have made', () => {
  const NOW = 1_800_000_000_000;
  const [MINUTE, HEARTBEAT] = [60_000, 10_000];
  const EXPIRY = MINUTE + HEARTBEAT;

  /** Each place, how far ahead of now its instants may be, and how far ahead a repair writes one. */
  const PLACES: readonly [key: keyof TestQueue['keys'], field: string, aheadMs: number, repairedMs: number][] = [
    ['claims', '', EXPIRY, HEARTBEAT],
    ['batches', '', MINUTE, 0],
    ['awaiting', '', MINUTE, 0],
    ['workers', '', 0, 0],
    ['names', '', 0, 0],
    ['scheduleOwners', '', 0, 0],
    ['foreignClaims', '', 0, 0],
    ['sweep', 'hold_until_ms', EXPIRY, HEARTBEAT],
    ['sweep', 'last_run_at_ms', 0, 0],
    ['sweep', 'maintained_at_ms', 0, 0],
    ['sweep', 'served_since_ms', 0, 0],
    ['sweep', 'tidied_at_ms', 0, 0],
    ['sweep', 'adopted_at_ms', 0, 0],
    ['sweep', 'foreign_seen_at_ms', 0, 0],
  ];

  it.each(PLACES)(
    'in %s %s is no fault, and a later one is, which a repair bounds',
    async (place, field, aheadMs, repairedMs) => {
      const q = queueOn(connectClocked({ nowMs: NOW }));
      q.broken = true;
      const key = q.keys[place] as string;
      const put = (ms: number) => (field ? q.redis.hset(key, field, NOW + ms) : q.redis.zadd(key, NOW + ms, 'x'));
      const look = async (repair: boolean) => (await q.run(q.scripts.doctor.clocks({ repair }))).faults;
      await put(aheadMs);
      expect(await look(true)).toEqual([]);
      await put(aheadMs + 1);
      expect(await look(false)).toMatchObject([{ subject: `${key} ${field || 'x'}` }]);
      await look(true);
      expect(Number(field ? await q.redis.hget(key, field) : await q.redis.zscore(key, 'x'))).toBe(
        NOW + repairedMs,
      );
      expect(await look(false)).toEqual([]);
    },
  );

  it('of a schedule that rests is none', async () => {
    const { q, doctor } = examined();
    q.broken = true;
    for (const key of [q.keys.claims, q.keys.scheduleOwners]) await q.redis.zadd(key, '+inf', 'x');
    expect((await q.run(doctor.clocks({ repair: false }))).faults).toEqual([]);
  });
});
