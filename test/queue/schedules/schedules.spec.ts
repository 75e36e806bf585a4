import { describe, expect, it } from '@jest/globals';
import { InvalidOptionError, InvalidPayloadError, ScheduleNotFoundError } from '#queue/errors/errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import type { Recurrence } from '#queue/model/schedule.js';
import type { ScheduleOptions } from '#queue/schedules/schedule.js';
import { coreQueue, sameQueue } from '../../support/queue/core-queue.js';
import { connect } from '../../support/redis/redis.js';
import { HOUR, HOURLY, TestSchedules } from '../../support/queue/schedules.js';
import { inside } from '../../support/queue/inside.js';

function setUp() {
  const { queue, state } = coreQueue();
  return { queue, state, seeded: new TestSchedules(state) };
}

describe('a schedule', () => {
  it('makes its tick although a job has the id of the schedule and of the due time', async () => {
    const { queue, seeded } = setUp();
    await queue.schedules.upsert('s', HOURLY, { payload: 'tick' });
    const due = await seeded.makeDue('s');
    await queue.enqueue(['mine'], { id: `s:${due}` });
    expect(await queue.schedules.tick()).toMatchObject({ enqueued: 1 });
    expect((await queue.list('pending')).map(({ payload }) => payload)).toEqual([['mine'], 'tick']);
  });

  it('is made, read, listed and removed', async () => {
    const { queue, state } = setUp();
    const cron = { cron: '0 3 * * *', timeZone: 'Europe/Berlin' };
    expect(await queue.schedules.upsert('nightly', cron, { payload: { a: [1] }, onMissed: 'once' })).toBe(
      'created',
    );
    await queue.schedules.upsert('hourly', HOURLY);
    const nightly = await queue.schedules.get('nightly');
    expect(nightly).toMatchObject({
      id: 'nightly',
      queue: queue.name,
      name: queue.name,
      payload: { a: [1] },
      ...cron,
      onMissed: 'once',
      missedAfterMs: 60_000,
      status: 'active',
      source: 'call',
      pausedAt: null,
      lastTickAt: null,
      lastJobId: null,
      ticks: 0,
      skipped: 0,
    });
    expect(nightly!.nextAt!.getTime()).toBeGreaterThan(await state.now());
    expect(nightly!.nextAt!.toLocaleTimeString('en-GB', { timeZone: 'Europe/Berlin' })).toBe('03:00:00');
    expect((await queue.schedules.list()).map(({ id }) => id).toSorted()).toEqual(['hourly', 'nightly']);
    expect(await queue.schedules.remove('nightly')).toBe('removed');
    expect(await queue.schedules.remove('nightly')).toBe('missing');
    expect(await queue.schedules.get('nightly')).toBeNull();
    await queue.schedules.remove('hourly');
    const { actions: _log, wake: _wake, ...left } = await state.snapshot();
    expect(left).toEqual({});
  });

  it('enqueues one job a tick, which says where it comes from', async () => {
    const { queue, seeded } = setUp();
    await queue.schedules.upsert('s', HOURLY, { payload: 5, priority: 3 });
    const due = await seeded.makeDue('s');
    expect(await queue.schedules.tick()).toMatchObject({ enqueued: 1, skipped: 0, more: false, faults: [] });
    expect(await queue.schedules.tick()).toMatchObject({ enqueued: 0 });
    expect(await queue.get(`@schedule:s:${due}`)).toMatchObject({
      schedule: 's',
      payload: 5,
      priority: 3,
      status: 'pending',
    });
    expect(await queue.schedules.get('s')).toMatchObject({
      ticks: 1,
      lastTickAt: new Date(due),
      lastJobId: `@schedule:s:${due}`,
    });
    const job = await queue.enqueue(1);
    expect(await job.get()).not.toHaveProperty('schedule');
  });

  it('gives one job a tick, however many replicas look at once', async () => {
    const { queue, state, seeded } = setUp();
    const ids = Array.from({ length: 20 }, (_, i) => `s${i}`);
    await Promise.all(ids.map((id) => queue.schedules.upsert(id, HOURLY)));
    const replicas = Array.from({ length: 10 }, () => sameQueue(queue));
    for (let round = 1; round <= 3; round++) {
      const dues = await Promise.all(ids.map((id) => seeded.makeDue(id, 10_000 - round * 1_000)));
      await Promise.all(replicas.map((replica) => replica.schedules.tick()));
      expect(await state.total('enqueued')).toBe(ids.length * round);
      expect(await state.pending()).toEqual(
        expect.arrayContaining(ids.map((id, i) => `@schedule:${id}:${dues[i]}`)),
      );
    }
  });

  it('makes its ticks in bounded slices', async () => {
    const { queue, state, seeded } = setUp();
    for (const id of ['a', 'b', 'c']) {
      await queue.schedules.upsert(id, HOURLY);
      await seeded.makeDue(id);
    }
    expect(await queue.schedules.tick({ limit: 2 })).toMatchObject({ enqueued: 2, more: true });
    expect(await queue.schedules.tick({ limit: 2 })).toMatchObject({ enqueued: 1, more: false });
    expect(await state.total('enqueued')).toBe(3);
  });

  it('neither loses nor doubles ticks when it is upserted in a restart loop', async () => {
    const { queue, state, seeded } = setUp();
    for (let round = 0; round < 5; round++) {
      const replicas = Array.from({ length: 4 }, () => sameQueue(queue));
      await Promise.all(replicas.map((replica) => replica.schedules.upsert('s', HOURLY, { payload: 1 })));
      const before = (await queue.schedules.get('s'))!.nextAt;
      await Promise.all(replicas.map((replica) => replica.schedules.upsert('s', HOURLY, { payload: 1 })));
      expect((await queue.schedules.get('s'))!.nextAt).toEqual(before);
      await seeded.makeDue('s', 10_000 - round * 1_000);
      await Promise.all(
        replicas.flatMap((replica) => [
          replica.schedules.upsert('s', HOURLY, { payload: 1 }),
          replica.schedules.tick(),
        ]),
      );
    }
    expect(await state.total('enqueued')).toBe(5);
  });

  it('neither loses nor doubles a tick when two versions of an upsert take turns around it', async () => {
    const { queue, state, seeded } = setUp();
    await queue.schedules.upsert('s', HOURLY, { payload: 'old' });
    await seeded.makeDue('s');
    for (const payload of ['new', 'old', 'new']) {
      expect(await queue.schedules.upsert('s', HOURLY, { payload })).toBe('changed');
    }
    await queue.schedules.tick();
    await queue.schedules.upsert('s', HOURLY, { payload: 'old' });
    await queue.schedules.tick();
    expect(await state.total('enqueued')).toBe(1);
  });

  it('I5: goes by the clock of the server, though that of this process is an hour off', async () => {
    const { queue, state, seeded } = setUp();
    const now = Date.now;
    for (const off of [-HOUR, HOUR]) {
      Date.now = () => now() + off;
      try {
        await queue.schedules.upsert(`every${off}`, HOURLY);
        await queue.schedules.upsert(`cron${off}`, { cron: '*/10 * * * *' });
        expect(await queue.schedules.tick()).toMatchObject({ enqueued: 0 });
        const server = await state.now();
        const every = (await queue.schedules.get(`every${off}`))!.nextAt!.getTime();
        const cron = (await queue.schedules.get(`cron${off}`))!.nextAt!.getTime();
        expect(every - server).toBeLessThanOrEqual(HOUR);
        expect(every).toBeGreaterThan(server - 1_000);
        expect(cron - server).toBeLessThanOrEqual(HOUR / 6);
        expect(cron).toBeGreaterThan(server - 1_000);
        await seeded.makeDue(`every${off}`);
        expect(await queue.schedules.tick()).toMatchObject({ enqueued: 1 });
        expect((await queue.schedules.get(`every${off}`))!.nextAt!.getTime() - server).toBeLessThanOrEqual(
          HOUR + 5_000,
        );
      } finally {
        Date.now = now;
      }
    }
  });

  it.each<[ScheduleOptions, number]>([
    [{}, 0],
    [{ onMissed: 'skip' }, 0],
    [{ onMissed: 'once' }, 1],
    [{ missedAfterMs: 4 * HOUR }, 1],
  ])('missed for three hours, while all were down, with %j: %i job', async (options, jobs) => {
    const { queue, state, seeded } = setUp();
    await queue.schedules.upsert('s', { everyMs: 60_000 }, options);
    await seeded.makeDue('s', 3 * HOUR);
    expect(await queue.schedules.tick()).toMatchObject({ enqueued: jobs, skipped: 1 - jobs });
    expect(await queue.schedules.tick()).toMatchObject({ enqueued: 0, skipped: 0 });
    expect(await state.total('enqueued')).toBe(jobs);
    expect((await queue.schedules.get('s'))!.nextAt!.getTime()).toBeGreaterThan((await state.now()) - 1_000);
  });

  it('paused makes no tick, and no missed one when it is resumed', async () => {
    const { queue, state, seeded } = setUp();
    await queue.schedules.upsert('s', HOURLY, { onMissed: 'once' });
    await seeded.makeDue('s');
    expect(await queue.schedules.pause('s')).toBe('paused');
    expect(await queue.schedules.get('s')).toMatchObject({ status: 'paused', nextAt: null });
    await queue.schedules.tick();
    expect(await queue.schedules.upsert('s', HOURLY, { onMissed: 'once' })).toBe('unchanged');
    await queue.schedules.tick();
    expect(await queue.schedules.resume('s')).toBe('resumed');
    await queue.schedules.tick();
    expect(await state.total('enqueued')).toBe(0);
    expect(await queue.schedules.get('s')).toMatchObject({ status: 'active', pausedAt: null });
    expect((await queue.schedules.get('s'))!.nextAt!.getTime()).toBeGreaterThan(await state.now());
    expect(await queue.schedules.pause('t')).toBe('missing');
    expect(await queue.schedules.resume('t')).toBe('missing');
  });

  it('runs now beside its ticks, and gives a handle', async () => {
    const { queue, state } = setUp();
    await queue.schedules.upsert('s', HOURLY, { payload: 7 });
    const { nextAt } = (await queue.schedules.get('s'))!;
    const handle = await queue.schedules.runNow<string>('s');
    expect(handle).toMatchObject({ name: queue.name, outcome: 'new' });
    const job = await queue.claim();
    expect(job).toMatchObject({ id: handle.id, payload: 7 });
    await queue.complete(job!, 'done');
    expect(await handle.result()).toBe('done');
    expect(await state.field(handle.id, 'schedule')).toBe('s');
    expect((await queue.schedules.get('s'))!.nextAt).toEqual(nextAt);
    await expect(queue.schedules.runNow('t')).rejects.toThrow(ScheduleNotFoundError);
  });

  it('without overlap is kept from running twice at once, also by hand', async () => {
    const { queue } = setUp();
    await queue.schedules.upsert('s', HOURLY, { overlap: false });
    const first = await queue.schedules.runNow('s');
    expect(await queue.schedules.runNow('s')).toMatchObject({ id: first.id, outcome: 'kept' });
  });

  it('without overlap is blocked by no unique key that a user can have', async () => {
    const { queue, state } = setUp();
    await queue.schedules.upsert('r', HOURLY, { overlap: false });
    const theirs = await queue.enqueue({}, { unique: { key: 'schedule:r', for: 'unfinished' } });
    const tick = await queue.schedules.runNow('r');
    expect(tick.outcome).toBe('new');
    const keys = await state.redis.hgetall(state.keys.unique);
    expect(Object.values(keys).toSorted()).toEqual([theirs.id, tick.id].toSorted());
    for (const key of Object.keys(keys).filter((each) => keys[each] === tick.id)) {
      await expect(queue.enqueue({}, { unique: { key, for: 'pending' } })).rejects.toThrow(InvalidOptionError);
    }
  });

  it('stays when the queue is purged', async () => {
    const { queue, state, seeded } = setUp();
    await queue.schedules.upsert('s', HOURLY);
    await seeded.makeDue('s');
    await queue.schedules.tick();
    await queue.purge({ confirm: queue.name });
    expect(await state.pending()).toEqual([]);
    expect(await queue.schedules.get('s')).toMatchObject({ status: 'active', ticks: 1 });
  });

  it('that this process cannot read is reported, and does not delay the ticks of others', async () => {
    const { queue, state, seeded } = setUp();
    await queue.schedules.upsert('odd', HOURLY);
    await queue.schedules.upsert('sound', HOURLY);
    await state.redis.hset(
      state.keys.schedule('odd'),
      'recurrence',
      '{"cron":"0 0 * * *","timeZone":"Mars/Olympus"}',
    );
    await seeded.makeDue('odd', 2_000);
    await seeded.makeDue('sound');
    const report = await queue.schedules.tick();
    expect(report).toMatchObject({ enqueued: 1, faults: [{ id: 'odd' }] });
    expect(report.faults[0]!.reason).toContain('Mars/Olympus');
  });

  it('costs a queue without schedules one command a look', async () => {
    const { queue } = coreQueue({}, connect());
    await queue.schedules.tick();
    const client = inside(queue).connection.client as ReturnType<typeof connect>;
    const commands: string[] = [];
    const send = client.sendCommand.bind(client);
    client.sendCommand = (command, stream) => {
      commands.push(command.name);
      return send(command, stream);
    };
    await queue.schedules.tick();
    expect(commands).toEqual(['evalsha']);
  });
});

describe('an upsert refuses, and writes nothing', () => {
  it.each<[string, Recurrence, ScheduleOptions, string]>([
    ['a b', HOURLY, {}, 'schedule id: expected 1 to 100 of A-Z a-z 0-9 _ . : @ -, found "a b".'],
    ['', HOURLY, {}, 'schedule id: '],
    ['x'.repeat(101), HOURLY, {}, 'schedule id: '],
    ['s', { everyMs: 0 }, {}, 'schedule "s".everyMs: expected a whole number from 100 to 31536000000 ms, found 0.'],
    ['s', { cron: '0 0 31 2 *' }, {}, 'schedule "s".cron: expected a cron expression that fires'],
    [
      's',
      HOURLY,
      { onMised: 'once' } as object,
      'schedule "s".onMised: expected a known option, found "onMised". Did you mean onMissed?',
    ],
    [
      's',
      HOURLY,
      { onMissed: 'twice' } as object,
      `schedule "s".onMissed: expected 'skip' or 'once', found "twice".`,
    ],
    [
      's',
      HOURLY,
      { priority: 1_001 },
      'schedule "s".priority: expected a whole number from 0 to 1000, found 1001.',
    ],
    ['s', HOURLY, { overlap: 'no' } as object, 'schedule "s".overlap: expected true or false, found "no".'],
    ['s', HOURLY, { delayMs: 5 } as object, 'schedule "s".delayMs: expected a known option'],
    ['s', HOURLY, { name: '' }, 'schedule "s".name: '],
    ['s', HOURLY, null as never, 'schedule "s": expected an object of schedule options, found null.'],
  ])('%s, %j, %j', async (id, recurrence, options, message) => {
    const { queue, state } = setUp();
    const failure = await queue.schedules.upsert(id, recurrence, options).then(
      () => undefined,
      (error: Error) => error,
    );
    expect(failure).toBeInstanceOf(InvalidOptionError);
    expect(failure!.message.slice(0, message.length)).toBe(message);
    expect(await state.snapshot()).toEqual({});
  });

  it('a payload that cannot be stored', async () => {
    const { queue, state } = setUp();
    await expect(queue.schedules.upsert('s', HOURLY, { payload: { a: NaN } })).rejects.toThrow(InvalidPayloadError);
    expect(await state.snapshot()).toEqual({});
  });
});

describe('a run whose record would go at once', () => {
  const short = { resultTtlMs: 1, cancelledTtlMs: 1 };

  it.each([
    ['completed', async (queue: JobQueue) => void (await queue.complete((await queue.claim())!))],
    ['completed', async (queue: JobQueue) => void (await queue.complete((await queue.claim())!, { done: true }))],
    ['cancelled', async (queue: JobQueue, id: string) => void (await queue.cancel(id))],
  ] as const)('is kept until a worker has noted that it %s (%#)', async (status, end) => {
    const { queue, state } = coreQueue(short);
    await queue.schedules.upsert('s', HOURLY);
    const { id } = await queue.schedules.runNow('s');
    await end(queue, id);
    expect(await state.redis.pttl(state.keys.job(id))).toBeGreaterThan(10_000);
    expect((await queue.schedules.list())[0]!.runs[0]).toMatchObject({ status });
  });
});
