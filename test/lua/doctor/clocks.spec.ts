import { expect, it } from '@jest/globals';
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
