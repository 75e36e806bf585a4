import { describe, expect, it, jest } from '@jest/globals';
import { InvalidOptionError } from '#queue/errors/errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import { systemClock } from '#queue/runtime/clock.js';
import { ScriptStore } from '#memory/script-store.js';
import type { DeclaredSchedule } from '#worker/handlers/handler.js';
import { encodeSchedule } from '#queue/schedules/schedule.js';
import { ScheduleDeclarer, ScheduleTicker } from '#worker/maintenance/worker-schedules.js';
import { Worker } from '#worker/worker.js';
import { queueOn } from '../../support/queue/queue-state.js';
import { connect } from '../../support/redis/redis.js';
import { HOUR, HOURLY, TestSchedules } from '../../support/queue/schedules.js';
import { eventually, gate, within } from '../../support/faults/wait.js';
import { holdTimers } from '../../support/worker/held-timers.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';

const DAILY: DeclaredSchedule = { recurrence: { cron: '0 0 1 1 *' }, options: { payload: 'v1' } };

function seedable(queue: JobQueue): TestSchedules {
  return new TestSchedules(queueOn(connect(), {}, queue.name));
}

function log() {
  const warnings: string[] = [];
  return { warnings, logger: { log: () => {}, warn: (text: string) => void warnings.push(text), error: () => {} } };
}

/** Starts a worker whose code declares these schedules, and keeps its payloads. */
async function declaring(queue: JobQueue, schedules: Record<string, DeclaredSchedule>) {
  const seen: unknown[] = [];
  const handle = (job: { payload: unknown }) => void seen.push(job.payload);
  const started = await startWorker([{ queue, handlers: { [queue.name]: handle }, schedules }]);
  return { worker: started.worker, seen };
}

function declarer(queue: JobQueue, id: string, worker: string, options: DeclaredSchedule['options']) {
  const { warnings, logger } = log();
  const schedule = encodeSchedule(queue, id, HOURLY, options);
  return { warnings, role: new ScheduleDeclarer(worker, [{ queue, schedules: [schedule] }], logger) };
}

describe('a worker', () => {
  it('runs the job of a schedule when it is due, one for each tick', async () => {
    const queue = newQueue();
    const done = gate();
    const started: number[] = [];
    await startWorker(queue, () => {
      started.push(Date.now());
      if (started.length === 3) done.open();
    });
    await queue.schedules.upsert(queue.name, { everyMs: 300 });
    await within(10_000, 'three ticks', done.promise);
    const jobs = await queue.list('completed');
    const dues = jobs.map(({ id }) => Number(id.split(':').at(-1)));
    expect(dues.every((due) => due % 300 === 0)).toBe(true);
    expect(new Set(dues).size).toBe(dues.length);
    await queue.schedules.remove(queue.name);
  });

  it('completes a run whose record would go at once', async () => {
    const queue = newQueue({ resultTtlMs: 1 });
    await queue.schedules.upsert('s', HOURLY);
    const { id } = await queue.schedules.runNow('s');
    await startWorker(queue, () => ({ done: true }));
    await eventually(async () => (await queue.get(id))?.status === 'completed');
    expect((await queue.stats()).totals).toMatchObject({ completed: 1 });
  });

  it('makes ticks of its code that came due while no worker was there', async () => {
    const queue = newQueue();
    const schedules = { daily: { ...DAILY, options: { payload: 'v1', onMissed: 'once' } } } as const;
    const first = await declaring(queue, schedules);
    await first.worker.stop();
    const seeded = seedable(queue);
    await seeded.makeDue('daily', 3 * HOUR);
    await seeded.silence('daily', 3 * HOUR);
    const [second, third] = await Promise.all([declaring(queue, schedules), declaring(queue, schedules)]);
    await eventually(() => second.seen.length + third.seen.length > 0);
    expect((await queue.stats()).totals.enqueued).toBe(1);
  });

  it('looks at its queues a few seconds at the latest after a schedule was made elsewhere', async () => {
    const queue = newQueue();
    const looks = holdTimers(5_000);
    const { seen } = await declaring(queue, {});
    const seeded = seedable(queue);
    await seeded.put(seeded.define('elsewhere', HOURLY, { payload: 1 }));
    await seeded.makeDue('elsewhere');
    await looks.fire();
    await eventually(() => seen.length === 1);
  });

  it('refuses a schedule that is none before it starts', () => {
    const queue = newQueue();
    const schedules = { 'a b': DAILY };
    const make = (bad: Record<string, DeclaredSchedule>) => () =>
      new Worker([{ queue, handlers: { [queue.name]: () => 0 }, schedules: bad }]);
    expect(make(schedules)).toThrow(InvalidOptionError);
    expect(make({ s: { recurrence: { cron: '0 0 30 2 *' } } })).toThrow(
      /schedule "s".cron: expected a cron expression that fires/,
    );
  });

  it('stops in time though its ticks hang', async () => {
    const queue = newQueue();
    const { worker } = await declaring(queue, { daily: DAILY });
    const hang = new Promise<never>(() => {});
    Object.assign(queue.schedules, { tick: () => hang, declare: () => hang });
    await queue.schedules.upsert('other', HOURLY); // a change, which makes the worker look
    await within(2_000, 'the stop', worker.stop({ timeoutMs: 500 }));
  });
});

it('a ticker of many queues makes the ticks of those that have schedules', async () => {
  const queues = Array.from({ length: 6 }, () => newQueue());
  const due = [queues[1]!, queues[4]!];
  for (const queue of due) {
    const seeded = seedable(queue);
    await seeded.put(seeded.define('s'));
    await seeded.makeDue('s');
  }
  const { logger, warnings } = log();
  const ticker = new ScheduleTicker(queues, logger);
  await ticker.runOnce();
  await ticker.stop();
  const made = await Promise.all(queues.map(async (queue) => (await queue.stats()).pending));
  expect([made, warnings]).toEqual([queues.map((queue) => (due.includes(queue) ? 1 : 0)), []]);
});

describe('a schedule that the code declares', () => {
  it('stops when it is removed from the code, and continues when it is back', async () => {
    const queue = newQueue();
    const seeded = seedable(queue);
    const { role } = declarer(queue, 's', 'w1', {});
    await role.runOnce();
    await seeded.silence('s', 31_000);
    const due = await seeded.makeDue('s');
    const ticker = new ScheduleTicker([queue], log().logger);
    await ticker.runOnce();
    expect(await queue.schedules.get('s')).toMatchObject({ status: 'undeclared', nextAt: null, ticks: 0 });
    await role.runOnce();
    await ticker.runOnce();
    await ticker.stop();
    expect(await queue.schedules.get('s')).toMatchObject({
      status: 'active',
      lastJobId: `@schedule:s:${due}`,
      ticks: 1,
    });
  });

  it('of two versions that disagree gives one job a tick, and passes to the new one when the old one is gone', async () => {
    const queue = newQueue();
    const seeded = seedable(queue);
    const old = declarer(queue, 's', 'old', { payload: 'old' });
    const changed = declarer(queue, 's', 'new', { payload: 'new' });
    for (const round of [1, 2, 3]) {
      await Promise.all([old.role.runOnce(), changed.role.runOnce()]);
      await seeded.makeDue('s', 10_000 - round * 1_000);
      await Promise.all([
        changed.role.runOnce(),
        queue.schedules.tick(),
        old.role.runOnce(),
        queue.schedules.tick(),
      ]);
      expect((await queue.stats()).totals.enqueued).toBe(round);
    }
    const held = [...old.warnings, ...changed.warnings];
    expect(held[0]).toMatch(/Schedule "s" of queue ".*" has another definition in another process/);
    const winner = (await queue.schedules.get('s'))!.payload as 'old' | 'new';
    const [first, second] = winner === 'old' ? [old, changed] : [changed, old];
    const due = await seeded.makeDue('s');
    await first.role.stop();
    await second.role.runOnce();
    expect((await queue.schedules.get('s'))!.payload).toBe(winner === 'old' ? 'new' : 'old');
    await queue.schedules.tick();
    expect(await queue.get(`@schedule:s:${due}`)).toMatchObject({ payload: winner === 'old' ? 'new' : 'old' });
    expect((await queue.stats()).totals.enqueued).toBe(4);
  });

  it('passes to another version once its last declarer stops, whose others then wait', async () => {
    const queue = newQueue();
    const seeded = seedable(queue);
    const [one, two] = ['old-1', 'old-2'].map((worker) => declarer(queue, 's', worker, { payload: 'old' }));
    const changed = declarer(queue, 's', 'new', { payload: 'new' });
    const inForce = async () => (await queue.schedules.get('s'))!.payload;
    await one!.role.runOnce();
    await two!.role.runOnce();
    await one!.role.stop();
    await changed.role.runOnce();
    expect(await inForce()).toBe('old'); // another process of that version declared it since
    await one!.role.runOnce();
    const due = await seeded.makeDue('s');
    await one!.role.stop();
    await changed.role.runOnce();
    await two!.role.runOnce();
    expect(await inForce()).toBe('new');
    expect([changed.warnings.length, two!.warnings.length]).toEqual([1, 1]);
    await Promise.all([queue.schedules.tick(), queue.schedules.tick()]);
    expect(await queue.get(`@schedule:s:${due}`)).toMatchObject({ payload: 'new' });
    await changed.role.stop();
    await two!.role.runOnce();
    expect(await inForce()).toBe('old');
    expect((await queue.stats()).totals.enqueued).toBe(1);
  });

  it('is not declared again by a process that stops during its first declaration', async () => {
    const setInterval = jest.fn(systemClock.setInterval);
    const clear = jest.fn(systemClock.clear);
    const queue = newQueue({}, new ScriptStore({ ...systemClock, setInterval, clear }));
    const { role } = declarer(queue, 's', 'w', {});
    const started = role.start();
    await role.stop();
    await started;
    const repetitions = setInterval.mock.results.map(({ value }) => value);
    expect(clear.mock.calls.flat()).toEqual(expect.arrayContaining(repetitions));
  });

  it('cannot be changed or removed by a call, but paused, which outlives a deploy', async () => {
    const queue = newQueue();
    const { role } = declarer(queue, 's', 'w1', {});
    await role.runOnce();
    await expect(queue.schedules.upsert('s', { everyMs: 5_000 })).rejects.toThrow(
      /that a running process declares/,
    );
    await expect(queue.schedules.remove('s')).rejects.toThrow(InvalidOptionError);
    await queue.schedules.pause('s');
    await role.stop();
    await declarer(queue, 's', 'w2', { payload: 'changed' }).role.runOnce();
    expect(await queue.schedules.get('s')).toMatchObject({ status: 'paused', payload: 'changed', source: 'code' });
  });
});

describe('a ticker', () => {
  it('of each of many replicas looks at once: one job a tick', async () => {
    const queue = newQueue();
    const seeded = seedable(queue);
    for (const id of ['a', 'b', 'c']) {
      await queue.schedules.upsert(id, HOURLY);
      await seeded.makeDue(id);
    }
    const tickers = Array.from({ length: 8 }, () => new ScheduleTicker([queue], log().logger));
    await Promise.all(tickers.map((ticker) => ticker.runOnce()));
    await Promise.all(tickers.map((ticker) => ticker.stop()));
    expect((await queue.stats()).totals.enqueued).toBe(3);
  });

  it('warns of an error and continues with other queues', async () => {
    const [broken, sound] = [newQueue(), newQueue()];
    const { warnings, logger } = log();
    Object.assign(broken.schedules, { tick: () => Promise.reject(new Error('no luck')) });
    await sound.schedules.upsert('s', HOURLY);
    await seedable(sound).makeDue('s');
    const ticker = new ScheduleTicker([broken, sound], logger);
    await ticker.runOnce();
    await ticker.stop();
    expect(warnings).toEqual([`Could not make the ticks of queue "${broken.name}"; trying again: no luck`]);
    expect((await sound.stats()).totals.enqueued).toBe(1);
  });

  it('asks only queues with due schedules', async () => {
    const queues = Array.from({ length: 6 }, () => newQueue());
    await queues[2]!.schedules.upsert('s', HOURLY);
    const asked: string[] = [];
    for (const queue of queues) {
      Object.assign(queue.schedules, { tick: () => Promise.reject(new Error(`${asked.push(queue.name)}`)) });
    }
    const ticker = new ScheduleTicker(queues, log().logger);
    await ticker.runOnce();
    await ticker.stop();
    expect(asked).toEqual([queues[2]!.name]);
  });

  it('makes more than one slice in a run', async () => {
    const queue = newQueue();
    const seeded = seedable(queue);
    const ids = Array.from({ length: 250 }, (_, i) => `s${i}`);
    await Promise.all(ids.map((id) => queue.schedules.upsert(id, HOURLY)));
    await Promise.all(ids.map((id) => seeded.makeDue(id)));
    const ticker = new ScheduleTicker([queue], log().logger);
    await ticker.runOnce();
    await ticker.stop();
    expect((await queue.stats()).totals.enqueued).toBe(250);
  });
});
