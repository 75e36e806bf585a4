import { describe, expect, it } from '@jest/globals';
import { Injectable, type Type } from '@nestjs/common';
import {
  InvalidOptionError,
  JobHandler,
  JobQueueService,
  RecurringJob,
  ScheduleNotFoundError,
  type Job,
  type Recurrence,
  type RecurringJobOptions,
} from 'nest-job-queue';
import { queueOn } from '../../support/queue/queue-state.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { HOUR, HOURLY, TestSchedules } from '../../support/queue/schedules.js';
import { eventually } from '../../support/faults/wait.js';
import { compileApp, startApp, handlerOf } from '../app.js';

const YEARLY: Recurrence = { cron: '0 0 1 1 *', timeZone: 'Europe/Berlin' };

function seedable(name: string): TestSchedules {
  return new TestSchedules(queueOn(connect(), {}, name));
}

/** Makes a recurring handler, and returns the jobs that it got. */
function recurring(name: string, recurrence: Recurrence = YEARLY, options: RecurringJobOptions = {}) {
  const seen: { id: string; payload: unknown }[] = [];
  @JobHandler(name)
  @RecurringJob(recurrence, options)
  class Handler {
    handle({ id, payload }: Job) {
      seen.push({ id, payload });
      return 'done';
    }
  }
  return { Handler: Handler as Type, seen };
}

describe('@RecurringJob', () => {
  it('on a handler class enqueues a job each tick, with its payload', async () => {
    const name = uniqueQueueName();
    const { Handler, seen } = recurring(name, { everyMs: 200 }, { payload: { kind: 'often' } });
    await startApp({ providers: [Handler] });
    await eventually(() => seen.length >= 2);
    expect(seen[0]!.payload).toEqual({ kind: 'often' });
    expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length);
    expect(seen[0]!.id).toMatch(new RegExp(`^@schedule:${name}:\\d+$`));
  });

  it('on handler methods, several with ids of their own, also in a shared queue', async () => {
    const [shared, morning, evening] = [uniqueQueueName(), uniqueQueueName(), uniqueQueueName()];
    @Injectable()
    class Reports {
      @JobHandler(morning, { queue: shared })
      @RecurringJob(YEARLY, { id: 'first', payload: 1 })
      @RecurringJob(HOURLY, { id: 'second', priority: 5, overlap: false })
      morning() {}

      @JobHandler(evening, { queue: shared })
      @RecurringJob(YEARLY)
      evening() {}
    }
    const app = await startApp({ providers: [Reports] });
    const schedules = await app.get(JobQueueService).schedules.list(morning);
    expect(schedules).toHaveLength(3);
    expect(schedules).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          id: 'first',
          queue: shared,
          name: morning,
          payload: 1,
          ...YEARLY,
          source: 'code',
        }),
        expect.objectContaining({ id: 'second', name: morning, payload: null, ...HOURLY }),
        expect.objectContaining({ id: evening, name: evening, status: 'active' }),
      ]),
    );
  });

  it('gives one job a tick in a fleet whose replicas boot together', async () => {
    const name = uniqueQueueName();
    const { Handler, seen } = recurring(name, YEARLY, { onMissed: 'once' });
    const first = await startApp({ providers: [Handler] });
    await first.close();
    const due = await seedable(name).makeDue(name, 5 * HOUR);
    await seedable(name).silence(name, 5 * HOUR);
    const apps = await Promise.all([1, 2, 3].map(() => startApp({ providers: [Handler] })));
    await eventually(() => seen.length > 0);
    expect(seen).toEqual([{ id: `@schedule:${name}:${due}`, payload: null }]);
    const { totals } = await apps[0]!.get(JobQueueService).queue(name).stats();
    expect(totals.enqueued).toBe(1);
  });

  it('that was changed takes effect with the next start; a tick that is due is kept', async () => {
    const name = uniqueQueueName();
    const old = await startApp({ providers: [recurring(name, YEARLY, { payload: 'old' }).Handler] });
    await old.close();
    const due = await seedable(name).makeDue(name);
    const { Handler, seen } = recurring(name, HOURLY, { payload: 'new' });
    const app = await startApp({ providers: [Handler] });
    await eventually(() => seen.length > 0);
    expect(seen).toEqual([{ id: `@schedule:${name}:${due}`, payload: 'new' }]);
    const schedule = await app.get(JobQueueService).schedules.get(name, name);
    expect(schedule).toMatchObject({ ...HOURLY, payload: 'new', ticks: 1 });
    expect(schedule).not.toHaveProperty('cron');
  });

  it('that was removed from the code stops, while the rest of the app continues', async () => {
    const name = uniqueQueueName();
    const old = await startApp({ providers: [recurring(name).Handler] });
    await old.close();
    const seeded = seedable(name);
    await seeded.makeDue(name);
    await seeded.silence(name, 31_000);
    const seen: unknown[] = [];
    const Handler = handlerOf(name, ({ payload }: Job) => void seen.push(payload));
    const app = await startApp({ providers: [Handler] });
    const jobs = app.get(JobQueueService);
    await eventually(async () => (await jobs.schedules.get(name, name))?.nextAt === null);
    expect(await jobs.schedules.get(name, name)).toMatchObject({ status: 'undeclared', ticks: 0 });
    await (await jobs.enqueue(name, 'by hand')).result();
    expect(seen).toEqual(['by hand']);
  });

  it.each<[string, Recurrence, object, RegExp]>([
    [
      'a cron that never fires',
      { cron: '0 0 31 2 *' },
      {},
      /@RecurringJob of @JobHandler\("NAME"\) on Handler\.handle\.cron: expected a cron expression that fires/,
    ],
    [
      'an unknown time zone',
      { cron: '0 0 * * *', timeZone: 'Berlin' },
      {},
      /\.timeZone: expected a time zone such as 'Europe\/Berlin', found "Berlin"/,
    ],
    ['everyMs 0', { everyMs: 0 }, {}, /\.everyMs: expected a whole number from 100/],
    ['both', { everyMs: 500, cron: '* * * * *' } as never, {}, /expected either cron or everyMs, found both/],
    [
      'an unknown option',
      HOURLY,
      { onMised: 'once' },
      /\.onMised: expected a known option, found "onMised"\. Did you mean onMissed\?/,
    ],
    ['a bad id', HOURLY, { id: 'a b' }, /schedule id: expected/],
    [
      'a payload that is none',
      HOURLY,
      { payload: 5n },
      /payload: expected a value that JSON can carry, found a BigInt/,
    ],
    ['no options', HOURLY, null as never, /expected an object of options, found null/],
  ])('stops the boot with %s', async (_what, recurrence, options, message) => {
    const name = uniqueQueueName();
    const app = await compileApp({ providers: [recurring(name, recurrence, options).Handler] });
    await expect(app.init()).rejects.toThrow(new RegExp(message.source.replace('NAME', name)));
  });

  it('stops the boot without a handler, with two of them, and with an id that is taken', async () => {
    @RecurringJob(HOURLY)
    class Alone {}
    @JobHandler(uniqueQueueName())
    @JobHandler(uniqueQueueName())
    @RecurringJob(HOURLY)
    class Two {
      handle() {}
    }
    @JobHandler(uniqueQueueName())
    @RecurringJob(HOURLY)
    @RecurringJob(YEARLY)
    class Same {
      handle() {}
    }
    for (const [provider, message] of [
      [Alone, /@RecurringJob on Alone\.handle: expected one @JobHandler at the same place, found none/],
      [Two, /expected one @JobHandler at the same place, found "test-.*", "test-.*"/],
      [Same, /expected one schedule "test-.*" in queue "test-.*", found another one, .*Give it an id\./],
    ] as const) {
      const app = await compileApp({ providers: [provider] });
      await expect(app.init()).rejects.toThrow(message);
    }
    expect(() => RecurringJob(HOURLY)({}, 'property', { value: 5 })).toThrow(InvalidOptionError);
  });
});

describe('service.schedules', () => {
  it('upserts, lists, gets, pauses, resumes, runs now and removes', async () => {
    const name = uniqueQueueName();
    const seen: unknown[] = [];
    @JobHandler(name)
    class Handler {
      handle({ payload }: Job) {
        seen.push(payload);
        return 'done';
      }
    }
    const app = await startApp({ providers: [Handler] });
    const { schedules } = app.get(JobQueueService);
    expect(await schedules.upsert(name, 'eu', YEARLY, { payload: 'eu' })).toBe('created');
    expect(await schedules.upsert(name, 'eu', YEARLY, { payload: 'eu' })).toBe('unchanged');
    expect((await schedules.list(name)).map(({ id }) => id)).toEqual(['eu']);
    expect((await schedules.list()).map(({ id }) => id)).toEqual(['eu']);
    expect(await schedules.get(name, 'eu')).toMatchObject({ queue: name, name, source: 'call', ...YEARLY });
    expect(await schedules.pause(name, 'eu')).toBe('paused');
    expect(await (await schedules.runNow(name, 'eu')).result()).toBe('done');
    expect(seen).toEqual(['eu']);
    expect(await schedules.resume(name, 'eu')).toBe('resumed');
    expect(await schedules.remove(name, 'eu')).toBe('removed');
    expect(await schedules.get(name, 'eu')).toBeNull();
    await expect(schedules.runNow(name, 'eu')).rejects.toThrow(ScheduleNotFoundError);
  });

  it('lists a page: of one queue, or of each that the process knows; 50 where no limit is given', async () => {
    const [one, two] = [uniqueQueueName('one'), uniqueQueueName('two')];
    const app = await startApp({});
    const { schedules } = app.get(JobQueueService);
    const ids = Array.from({ length: 53 }, (_, i) => `s${String(i).padStart(2, '0')}`);
    await Promise.all(ids.map((id) => schedules.upsert(one, id, YEARLY)));
    await schedules.upsert(two, 'last', YEARLY);
    const idsOf = async (...asked: Parameters<typeof schedules.list>) =>
      (await schedules.list(...asked)).map(({ id }) => id);
    expect(await idsOf(one)).toEqual(ids.slice(0, 50));
    expect(await idsOf(one, { offset: 50 })).toEqual(ids.slice(50));
    expect(await idsOf(one, { offset: 2, limit: 3 })).toEqual(['s02', 's03', 's04']);
    expect(await idsOf(undefined, { limit: 1 })).toEqual(['s00', 'last']);
    expect(await idsOf()).toHaveLength(51);
    for (const wrong of [{ limit: 1_001 }, { limit: 0 }, { offset: -1 }, { page: 1 }, null]) {
      await expect(schedules.list(one, wrong as never)).rejects.toThrow(InvalidOptionError);
      await expect(schedules.list(undefined, wrong as never)).rejects.toThrow(InvalidOptionError);
    }
  });

  it('sends the jobs of a schedule where its handler or the call says', async () => {
    const [name, queue] = [uniqueQueueName(), uniqueQueueName()];
    const app = await startApp({});
    const { schedules } = app.get(JobQueueService);
    await schedules.upsert(name, 's', YEARLY, { queue });
    expect(await schedules.get(queue, 's')).toMatchObject({ queue, name });
    expect(await schedules.get(name, 's')).toBeNull();
    await schedules.remove(queue, 's');
  });

  it('ticks soon after the upsert, made in the process of the worker', async () => {
    const name = uniqueQueueName();
    const seen: string[] = [];
    const Handler = handlerOf(name, ({ id }: Job) => void seen.push(id));
    const app = await startApp({ providers: [Handler] });
    const { schedules } = app.get(JobQueueService);
    await schedules.upsert(name, 's', { everyMs: 200 });
    await eventually(() => seen.length >= 2, { timeoutMs: 3_000 });
    await schedules.remove(name, 's');
    expect(new Set(seen).size).toBe(seen.length);
  });
});
