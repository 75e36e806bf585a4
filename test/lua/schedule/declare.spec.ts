import { describe, expect, it } from '@jest/globals';
import { expectUnchanged } from '../../support/queue/queue-state.js';
import { HOURLY, testSchedules } from '../../support/queue/schedules.js';

describe('schedule/declare.lua', () => {
  it('keeps the schedules of the code going, by the time of the server', async () => {
    const { q, schedules } = testSchedules();
    const schedule = schedules.define('s');
    await schedules.put(schedule, 'w1');
    await schedules.silence('s', 29_000);
    const before = await q.now();
    expect(await q.run(schedules.scripts.declare({ worker: 'w1', declares: true, schedules: [schedule] }))).toEqual(
      ['declared'],
    );
    expect(Number(await q.redis.zscore(q.keys.scheduleOwners, 's'))).toBeGreaterThanOrEqual(before);
    expect(Number(await schedules.field('s', 'declared_until_ms'))).toBeGreaterThanOrEqual(before + 30_000);
  });

  it('says which are to be made, changed, or declared by another version', async () => {
    const { q, schedules } = testSchedules();
    const other = (id: string) => schedules.define(id, HOURLY, { payload: 1 });
    await schedules.put(schedules.define('of-another'), 'w1');
    await schedules.put(schedules.define('free'), 'w1');
    await schedules.put(schedules.define('mine'), 'w2');
    await schedules.put(schedules.define('of-a-call'));
    await schedules.silence('free', 0);
    const asked = [other('of-another'), other('free'), other('mine'), schedules.define('of-a-call'), other('new')];
    const answers = await q.run(schedules.scripts.declare({ worker: 'w2', declares: true, schedules: asked }));
    expect(answers).toEqual(['conflict', 'upsert', 'upsert', 'upsert', 'upsert']);
  });

  it('tells workers apart of which the id of one begins or ends with that of the other', async () => {
    const { q, schedules } = testSchedules();
    await schedules.put(schedules.define('s'), 'w12w1');
    const declare = (worker: string, declares: boolean) => {
      const asked = [schedules.define('s', HOURLY, { payload: 1 })];
      return q.run(schedules.scripts.declare({ worker, declares, schedules: asked }));
    };
    for (const worker of ['w12', 'w1']) {
      expect(await declare(worker, true)).toEqual(['conflict']);
      await declare(worker, false);
      expect(Number(await schedules.field('s', 'declared_until_ms'))).toBeGreaterThan(await q.now());
    }
  });

  it.each(['w1', 'w12', 'w12w1w'])(
    'rests none while a worker lives whose id is only like that of %s, which stops',
    async (worker) => {
      const { q, schedules } = testSchedules();
      await schedules.put(schedules.define('s'), worker);
      await q.redis.zadd(q.keys.workers, await q.now(), 'w12w1');
      const asked = { worker, declares: false, schedules: [schedules.define('s')] };
      await q.run(schedules.scripts.declare(asked));
      expect(await schedules.dueAt('s')).toBeLessThan(Infinity);
      await q.redis.zadd(q.keys.workers, 1, 'w12w1'); // it has died since
      await q.run(schedules.scripts.declare(asked));
      expect(await schedules.dueAt('s')).toBe(Infinity);
    },
  );

  it('a version that waits keeps the schedule going too', async () => {
    const { q, schedules } = testSchedules();
    await schedules.put(schedules.define('s'), 'w1');
    await q.redis.zadd(q.keys.scheduleOwners, 5, 's');
    await q.run(
      schedules.scripts.declare({
        worker: 'w2',
        declares: true,
        schedules: [schedules.define('s', HOURLY, { payload: 1 })],
      }),
    );
    await schedules.makeDue('s');
    expect((await schedules.due()).due).toHaveLength(1);
  });

  it('releases the schedules of this worker and no others; repeated it changes nothing', async () => {
    const { q, schedules } = testSchedules();
    const schedule = schedules.define('s');
    await schedules.put(schedule, 'w1');
    await expectUnchanged(q, () =>
      q.run(schedules.scripts.declare({ worker: 'w2', declares: false, schedules: [schedule] })),
    );
    await q.run(schedules.scripts.declare({ worker: 'w1', declares: false, schedules: [schedule] }));
    expect(await schedules.field('s', 'declared_until_ms')).toBe('0');
    await expectUnchanged(q, () =>
      q.run(schedules.scripts.declare({ worker: 'w1', declares: false, schedules: [schedule] })),
    );
    expect(await schedules.put(schedules.define('s', HOURLY, { payload: 1 }), 'w2')).toBe('changed');
  });

  it('rests the schedules of the last worker at once, and no others', async () => {
    const { q, schedules } = testSchedules();
    const schedule = schedules.define('s');
    const stop = (worker: string) =>
      q.run(
        schedules.scripts.declare({ worker, declares: false, schedules: [schedule, schedules.define('call')] }),
      );
    for (const worker of ['w1', 'w2']) await q.run(q.scripts.workers.register({ worker, serves: true }));
    await schedules.put(schedule, 'w1');
    await schedules.put(schedules.define('call'));
    const due = await schedules.dueAt('s');
    await stop('w1');
    expect(await schedules.dueAt('s')).toBe(due); // w2 may declare it too
    await q.run(q.scripts.workers.register({ worker: 'w1', serves: false }));
    await stop('w2');
    expect(await schedules.dueAt('s')).toBe(Infinity);
    expect(await schedules.dueAt('call')).toBeLessThan(Infinity);
    await expectUnchanged(q, () => stop('w2'));
    await q.run(schedules.scripts.declare({ worker: 'w3', declares: true, schedules: [schedule] }));
    expect(await schedules.dueAt('s')).toBe(due);
    await stop('w2'); // late, after w3 has declared it
    expect(await schedules.dueAt('s')).toBe(due);
  });

  it('does not end a pause', async () => {
    const { q, schedules } = testSchedules();
    const schedule = schedules.define('s');
    await schedules.put(schedule, 'w1');
    await schedules.silence('s', 60_000);
    await schedules.makeDue('s');
    await schedules.due(); // puts it to rest
    await q.run(schedules.scripts.pause({ id: 's' }));
    await q.run(schedules.scripts.declare({ worker: 'w1', declares: true, schedules: [schedule] }));
    expect(await schedules.dueAt('s')).toBe(Infinity);
  });
});

it.each(['v1', '2v', 'v', '2', 'v22', '2v2'])('takes the version %s for another than v2', async (version) => {
  const { q, schedules } = testSchedules();
  await schedules.put({ ...schedules.define('s'), version: 'v2' }, 'w1');
  const declared = (worker: string, asked: string) => {
    const schedule = { ...schedules.define('s'), version: asked };
    return q.run(schedules.scripts.declare({ worker, declares: true, schedules: [schedule] }));
  };
  expect(await declared('w2', version)).toEqual(['conflict']);
  expect(await declared('w1', version)).toEqual(['upsert']);
  expect(await declared('w1', 'v2')).toEqual(['declared']);
});
