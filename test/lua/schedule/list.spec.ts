import { expect, it } from '@jest/globals';
import { expectUnchanged } from '../../support/queue/queue-state.js';
import { HOUR, testSchedules } from '../../support/queue/schedules.js';

it('shows one, or a page: the next due first, those at rest last', async () => {
  const { q, schedules } = testSchedules();
  for (const [id, dueInMs] of [
    ['b', 2 * HOUR],
    ['a', HOUR],
    ['paused', 5],
  ] as const) {
    await schedules.put(schedules.define(id), undefined, dueInMs);
  }
  await schedules.put(schedules.define('code'), 'w1', 3 * HOUR);
  await q.run(schedules.scripts.pause({ id: 'paused' }));
  const page = await expectUnchanged(q, () => q.run(schedules.scripts.list({ offset: 0, limit: 10 })));
  expect(page.map(({ id, status, source }) => [id, status, source])).toEqual([
    ['a', 'active', 'call'],
    ['b', 'active', 'call'],
    ['code', 'active', 'code'],
    ['paused', 'paused', 'call'],
  ]);
  expect(page.map(({ isDeclared }) => isDeclared)).toEqual([false, false, true, false]);
  expect(page[0]!.nextAt!.getTime()).toBe(await schedules.dueAt('a'));
  expect(page[3]!.nextAt).toBeNull();
  expect((await q.run(schedules.scripts.list({ offset: 1, limit: 2 }))).map(({ id }) => id)).toEqual(['b', 'code']);
  await schedules.silence('code', 31_000);
  expect(await q.run(schedules.scripts.get({ id: 'code' }))).toMatchObject([
    { id: 'code', status: 'undeclared', isDeclared: false },
  ]);
  expect(await q.run(schedules.scripts.get({ id: 'none' }))).toEqual([]);
});

it('says since when a run is overdue: of one that nobody ticks, and of one whose code runs nowhere', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('call'));
  await schedules.put(schedules.define('code'), 'w1');
  const facts = async () => {
    const page = await q.run(schedules.scripts.list({ offset: 0, limit: 10 }));
    const { schedules: count, schedulesOverdueSince } = await q.run(q.scripts.stats());
    const since = Object.fromEntries(page.map((each) => [each.id, each.overdueSince?.getTime() ?? null]));
    return { count, since, overdue: schedulesOverdueSince?.getTime() };
  };
  expect(await facts()).toEqual({ count: 2, since: { call: null, code: null }, overdue: undefined });
  const call = await schedules.makeDue('call', 5_000);
  expect(await facts()).toEqual({ count: 2, since: { call, code: null }, overdue: call });
  const code = await schedules.makeDue('code', 60_000);
  await schedules.silence('code', 31_000);
  await schedules.tick();
  expect(await facts()).toEqual({ count: 2, since: { call: null, code }, overdue: code });
  await q.run(schedules.scripts.pause({ id: 'code' }));
  expect(await facts()).toEqual({ count: 2, since: { call: null, code: null }, overdue: undefined });
});

it('has the last runs, the newest first, with the states of their jobs as of now', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s'));
  const first = await schedules.makeDue('s', 2_000);
  await schedules.tick();
  const next = await schedules.makeDue('s');
  await schedules.tick();
  await q.claim(1);
  const read = async () => (await expectUnchanged(q, () => q.run(schedules.scripts.get({ id: 's' }))))[0]!.runs;
  expect(await read()).toEqual([
    { jobId: `@schedule:s:${next}`, at: new Date(next), status: 'pending', isByHand: false },
    { jobId: `@schedule:s:${first}`, at: new Date(first), status: 'processing', isByHand: false },
  ]);
  await q.redis.hset(q.keys.schedule('s'), 'runs', '9=pending 8=failed 7=odd broken 6=');
  expect((await read()).map(({ at, status }) => [Number(at), status])).toEqual([
    [9, 'gone'],
    [8, 'failed'],
    [7, 'gone'],
  ]);
});

it('has the options of its jobs, as another upsert takes them', async () => {
  const { q, schedules } = testSchedules();
  const options = {
    priority: 3,
    group: 'tenant-1',
    maxAttempts: 7,
    maxCrashes: 2,
    backoff: { type: 'fixed', delayMs: 5 },
    timeoutMs: 500,
    keepResult: false,
    resultTtlMs: 1_000,
    expiresInMs: 60_000,
  } as const;
  const schedule = schedules.define('s', undefined, { ...options, overlap: false });
  await schedules.put(schedule);
  await schedules.put(schedules.define('plain'));
  const [[s], [plain]] = [
    await q.run(schedules.scripts.get({ id: 's' })),
    await q.run(schedules.scripts.get({ id: 'plain' })),
  ];
  expect([s!.options, s!.overlap]).toEqual([options, false]);
  expect([plain!.options, plain!.overlap]).toEqual([{}, true]);
  expect(schedules.define('s', undefined, { ...s!.options, overlap: s!.overlap }).version).toBe(schedule.version);
});
