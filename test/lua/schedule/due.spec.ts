import { expect, it } from '@jest/globals';
import { expectUnchanged } from '../../support/queue/queue-state.js';
import { HOUR, testSchedules } from '../../support/queue/schedules.js';

it('shows due schedules, the longest due first, a bounded slice, and when the next is due', async () => {
  const { q, schedules } = testSchedules();
  for (const id of ['a', 'b', 'c', 'later']) {
    await schedules.put(schedules.define(id));
  }
  const dueOfA = await schedules.makeDue('a', 3_000);
  await schedules.makeDue('b', 2_000);
  await schedules.makeDue('c', 1_000);
  const { version } = schedules.define('a');
  const look = await expectUnchanged(q, () => schedules.due(2));
  expect(look.due.map(({ id }) => id)).toEqual(['a', 'b']);
  expect(look.due[0]).toEqual({ id: 'a', dueAtMs: dueOfA, version, recurrence: `{"everyMs":${HOUR}}` });
  expect(look.more).toBe(true);
  expect(look.nextDueInMs).toBeGreaterThan(HOUR - 10_000);
  expect(look.nextDueInMs).toBeLessThanOrEqual(HOUR);
  expect(Math.abs(look.nowMs - (await q.now()))).toBeLessThan(5_000);
  expect((await schedules.due(4)).more).toBe(false);
});

it('shows also others from a place on, without those that rest', async () => {
  const { q, schedules } = testSchedules();
  for (const [i, id] of ['a', 'b', 'c', 'rests'].entries())
    await schedules.put(schedules.define(id), undefined, HOUR + i);
  await q.run(schedules.scripts.pause({ id: 'rests' }));
  await schedules.makeDue('a');
  const shown = async (othersFrom?: number) => {
    const { due } = await q.run(schedules.scripts.due({ limit: 10, othersFrom }));
    return due.map(({ id }) => id);
  };
  expect(await shown()).toEqual(['a']);
  expect(await shown(0)).toEqual(['a', 'b', 'c']);
  expect(await shown(1)).toEqual(['a', 'c']);
  expect(await shown(2)).toEqual(['a']);
});

it('finds nothing in a queue without schedules, or where all rest', async () => {
  const { schedules, q } = testSchedules();
  expect(await schedules.due()).toMatchObject({ due: [], more: false, nextDueInMs: undefined });
  await schedules.put(schedules.define('a'));
  await q.run(schedules.scripts.pause({ id: 'a' }));
  expect(await schedules.due()).toMatchObject({ due: [], more: false, nextDueInMs: undefined });
});

it('puts a schedule that no process declares any more to rest, and keeps its due time', async () => {
  const { q, schedules } = testSchedules();
  const [gone, alive] = [schedules.define('gone'), schedules.define('alive')];
  await schedules.put(gone, 'w1');
  await schedules.put(alive, 'w1');
  const due = await schedules.makeDue('gone', 5_000);
  await schedules.makeDue('alive');
  await schedules.silence('gone', 31_000);
  await schedules.silence('alive', 29_000);
  expect((await schedules.due()).due.map(({ id }) => id)).toEqual(['alive']);
  expect(await schedules.dueAt('gone')).toBe(Infinity);
  await q.run(schedules.scripts.declare({ worker: 'w2', declares: true, schedules: [gone] }));
  expect(await schedules.dueAt('gone')).toBe(due);
});

it('notes the ends of the runs of others, before the records of their jobs go', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s'));
  const look = () => q.run(schedules.scripts.due({ limit: 0, othersFrom: 0 }));
  const due = await schedules.makeDue('s');
  await schedules.tick();
  const [job] = await q.claim(1);
  await look();
  expect(await schedules.field('s', 'runs')).toBe(`${due}=processing`);
  await q.complete(job!);
  await schedules.due();
  expect(await schedules.field('s', 'runs')).toBe(`${due}=processing`);
  await look();
  expect(await schedules.field('s', 'runs')).toBe(`${due}=completed`);
  await q.run(q.scripts.remove({ id: job!.id }));
  await look();
  expect(await schedules.field('s', 'runs')).toBe(`${due}=completed`);
});

it.each<[string, (world: ReturnType<typeof testSchedules>) => Promise<unknown>]>([
  ['paused', ({ q, schedules }) => q.run(schedules.scripts.pause({ id: 's' }))],
  ['ended', ({ q, schedules }) => q.redis.zadd(schedules.q.keys.scheduleDue, '+inf', 's').then(() => q)],
])('notes the end of the last run of a schedule that is %s since', async (_, rests) => {
  const world = testSchedules();
  const { q, schedules } = world;
  await schedules.put(schedules.define('s'));
  const due = await schedules.makeDue('s');
  await schedules.tick();
  await rests(world);
  const [job] = await q.claim(1);
  await q.complete(job!);
  await q.run(schedules.scripts.due({ limit: 0, othersFrom: 0 }));
  await q.run(q.scripts.remove({ id: job!.id }));
  await q.run(schedules.scripts.due({ limit: 0, othersFrom: 0 }));
  expect(await schedules.field('s', 'runs')).toBe(`${due}=completed`);
});

it('I7: forgets a schedule whose hash is gone', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s'), 'w1');
  await schedules.makeDue('s');
  await q.redis.del(q.keys.schedule('s'));
  expect((await schedules.due()).due).toEqual([]);
  await q.redis.del(q.keys.wake);
  expect(await q.snapshot()).toEqual({});
});
