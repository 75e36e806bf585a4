// The store in memory: queues and workers do on it what they do on Redis. Each case runs on both.
import { describe, expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import type { JobEvent } from '#queue/model/job-event.js';
import { systemClock } from '#queue/runtime/clock.js';
import { ScriptServer } from '#memory/server/script-server.js';
import { ScriptStore } from '#memory/script-store.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { Worker } from '#worker/worker.js';
import { newQueue, onEachStore, startWorker, untilAborted } from '../support/worker/workers.js';
import { sealed } from '../support/queue/unsealed.js';

onEachStore('a store', () => {
  it('publishes attempts, errors, progress and results, until the queue has drained', async () => {
    const eventExtras = { results: true, enqueued: true, drained: true };
    const queue = newQueue({ eventExtras, maxAttempts: 2, backoff: 0 });
    const events: JobEvent[] = [];
    let resolveDrained!: () => void;
    const drained = new Promise<void>((resolve) => (resolveDrained = resolve));
    const stop = await queue.store.subscribe(await queue.calls(), (event) => {
      events.push(event);
      if (event.status === 'drained') resolveDrained();
    });
    await queue.enqueue('first');
    const { id } = await queue.enqueue({ fails: 'once' }, { priority: 1 });
    await startWorker(queue, async (job) => {
      if (job.payload === 'first') return undefined;
      await job.progress({ half: true });
      if (job.attempt === 1) throw new Error('no');
      return 'done';
    });
    await drained;
    stop();
    const job = { id, name: queue.name };
    expect(events.filter((event) => event.id === id)).toEqual([
      { ...job, status: 'enqueued' },
      { ...job, status: 'progress', attempt: 1, progress: { half: true } },
      { ...job, status: 'retry', attempt: 1, error: 'no' },
      { ...job, status: 'progress', attempt: 2, progress: { half: true } },
      { ...job, status: 'completed', attempt: 2, result: 'done' },
    ]);
    expect(events.filter(({ status }) => status === 'drained')).toEqual([{ id: '', status: 'drained' }]);
  });

  it('cancels a running job at once from another process, without a heartbeat', async () => {
    const queue = newQueue({ visibilityMs: 600_000 });
    const worker = await startWorker(queue, untilAborted);
    const { id } = await queue.enqueue({});
    await worker.event('started');
    // The call alone, because `queue.cancel()` also tells the workers of this process.
    expect(await queue.exec((calls) => calls.cancel({ id }))).toBe('requested');
    await worker.event('cancelled', 1, { id });
  });

  it('begins anew after a purge of everything, with its groups and alerts', async () => {
    const queue = newQueue();
    await queue.enqueue({}, { group: 'a' });
    await queue.groups.set('a', { maxRunning: 2 });
    await queue.exec((calls) => calls.alerts.takeTurn({ token: 'one', everyMs: 0 }));
    expect(await queue.exec((calls) => calls.alerts.told({ token: 'one', record: 'record' }))).toBe(true);
    await queue.purge({ confirm: queue.name, everything: true });
    await queue.groups.set('a', { maxRunning: 1 });
    await queue.enqueueMany([1, 2].map((payload) => ({ payload, group: 'a' })));
    expect(await queue.claimMany(2)).toHaveLength(1);
    expect(await queue.groups.get('a')).toMatchObject({ pending: 1, running: 1, limits: { maxRunning: 1 } });
    expect((await queue.groups.list()).map(({ name }) => name)).toEqual(['a']);
    expect(await queue.exec((calls) => calls.alerts.takeTurn({ token: 'two', everyMs: 0 }))).toMatchObject({
      record: '',
    });
  });

  it('adds the jobs of a sender once, also plain ones', async () => {
    const queue = newQueue();
    const entries = ['a', 'b'].map((id) => ({ key: id, job: { id, name: queue.name, payload: sealed('1') } }));
    const send = (count: number) =>
      queue.exec((calls) =>
        calls.once.enqueue({ sender: { source: 's', fence: 1 }, entries: entries.slice(0, count) }),
      );
    expect(await send(1)).toMatchObject({ replies: [{ outcome: 'new' }] });
    expect(await send(2)).toMatchObject({ replies: [{ outcome: 'known' }, { outcome: 'new' }] });
    expect((await queue.claimMany(3)).map(({ id }) => id)).toEqual(['a', 'b']);
  });

  it('keeps a unique key until its job ends, and lets a newer job replace a waiting one', async () => {
    const queue = newQueue();
    const first = await queue.enqueue({ n: 1 }, { unique: { key: 'k', for: 'unfinished' } });
    const second = await queue.enqueue({ n: 2 }, { unique: { key: 'k', for: 'unfinished' } });
    expect([second.outcome, second.id]).toEqual(['kept', first.id]);
    const third = await queue.enqueue({ n: 3 }, { unique: { key: 'k', for: 'unfinished', onConflict: 'replace' } });
    expect([third.outcome, third.id]).toEqual(['replaced', first.id]);
    const claimed = await queue.claim();
    expect(claimed).toMatchObject({ id: first.id, payload: { n: 3 }, attempt: 1 });
    expect(await queue.complete(claimed!, 'done')).toBe(true);
    expect(await queue.complete(claimed!, 'done')).toBe(true);
    expect((await queue.enqueue({ n: 4 }, { unique: { key: 'k', for: 'unfinished' } })).outcome).toBe('new');
  });

  it('extends no claim that is over', async () => {
    const queue = newQueue();
    await queue.enqueue({});
    const job = (await queue.claim())!;
    expect(await queue.extend(job)).toBe('extended');
    await queue.fail(job, new Error('no'), { delayMs: 60_000 });
    expect(await queue.extend(job)).toBe('lost');
    expect(await queue.stats()).toMatchObject({ processing: 0, scheduled: 1 });
  });

  it('takes priorities, delays, pauses, releases and schedules as Redis does', async () => {
    const queue = newQueue();
    await queue.enqueue([1], { id: 'plain' });
    await queue.enqueue([1], { id: 'urgent', priority: 5 });
    await queue.enqueue([1], { id: 'later', delayMs: 60_000 });
    expect((await queue.list('pending')).map(({ id }) => id)).toEqual(['urgent', 'plain']);
    expect(await queue.pause()).toBe(true);
    expect(await queue.claim()).toBeNull();
    expect(await queue.resume()).toBe(true);
    const [urgent, plain] = await queue.claimMany(2);
    expect(await queue.release(plain!)).toBe('released');
    expect(await queue.release(plain!)).toBe('released');
    expect(await queue.fail(urgent!, new Error('x'), { final: true })).toBe('failed');
    expect(await queue.reschedule('later', { delayMs: 0 })).toBe('pending');
    expect((await queue.claimMany(2)).map(({ id, attempt }) => [id, attempt])).toEqual([
      ['plain', 1],
      ['later', 1],
    ]);
    expect(await queue.schedules.upsert('s', { everyMs: 60_000 })).toBe('created');
    expect((await queue.schedules.runNow('s')).outcome).toBe('new');
    expect(await queue.schedules.pause('s')).toBe('paused');
    expect(await queue.schedules.get('s')).toMatchObject({ status: 'paused', nextAt: null });
    expect(await queue.purge({ confirm: queue.name })).toBe(4);
  });
});

describe('by virtual time', () => {
  it('a claim whose worker is gone expires, and another worker runs the job', async () => {
    const clock = new VirtualClock();
    const store = new ScriptStore(clock);
    const queue = new JobQueue(store, 'jobs', { visibilityMs: 30_000 });
    await queue.enqueue({ n: 1 }, { id: 'a' });
    expect(await queue.claim()).toMatchObject({ id: 'a' });
    const ran: string[] = [];
    const worker = new Worker([{ queue, handlers: { jobs: ({ id }) => void ran.push(id) } }]);
    await worker.start();
    await clock.advance(29_000);
    expect(ran).toEqual([]);
    await clock.advance(30_000);
    expect(ran).toEqual(['a']);
    expect(await queue.get('a')).toMatchObject({ status: 'completed', attempts: 2, crashes: 1 });
    const stopping = worker.stop({ timeoutMs: 1_000 });
    await clock.advance(2_000);
    await stopping;
  });

  it('a delayed job and a schedule run at their times', async () => {
    const clock = new VirtualClock();
    const queue = new JobQueue(new ScriptStore(clock), 'jobs');
    const ran: [string, number][] = [];
    const begunAt = clock.now();
    const handle = ({ payload }: { payload: unknown }) => void ran.push([String(payload), clock.now() - begunAt]);
    const worker = new Worker([{ queue, handlers: { jobs: handle } }]);
    await worker.start();
    await queue.enqueue(['later'], { delayMs: 90_000 });
    await queue.schedules.upsert('often', { everyMs: 600_000 }, { payload: 'tick' });
    await clock.advance(2 * 600_000);
    const timesOf = (text: string) => ran.flatMap(([what, atMs]) => (what === text ? [atMs] : []));
    expect(timesOf('later')).toEqual([90_000]);
    expect(timesOf('tick').map((atMs) => (begunAt + atMs) % 600_000)).toEqual([0, 0]);
    const stopping = worker.stop({ timeoutMs: 1_000 });
    await clock.advance(2_000);
    await stopping;
  });
});

it('a step in memory sees one time, as a script on Redis does', async () => {
  let now = 1_000_000;
  const server = new ScriptServer(() => now++); // time passes with each look at the clock
  const queue = new JobQueue(new ScriptStore(systemClock, { server }), 'jobs');
  const { id } = await queue.enqueue({});
  await queue.fail((await queue.claim())!, new Error('no'), { delayMs: 1_000 });
  const { dueAt, lastErrorAt } = (await queue.get(id))!;
  expect(dueAt!.getTime() - lastErrorAt!.getTime()).toBe(1_000);
});

it('a call without an answer ends as an error once its worker stops', async () => {
  const store = new ScriptStore(new VirtualClock(), { link: () => new Promise(() => undefined) });
  const queue = new JobQueue(store, 'jobs');
  const calls = await queue.calls();
  const transport = store.transport();
  const carried = transport.carry<[boolean]>([calls.resume()]);
  transport.close();
  queue.close();
  expect(await carried).toEqual([{ ok: false, error: new Error('the worker is being stopped') }]);
});

it('a call without an answer ends so too if one sent later was answered', async () => {
  let sent = 0;
  const link = <Reply>(_script: string, run: () => Reply) =>
    ++sent === 1 ? new Promise<Reply>(() => undefined) : Promise.resolve(run());
  const store = new ScriptStore(new VirtualClock(), { link });
  const queue = new JobQueue(store, 'jobs');
  const calls = await queue.calls();
  const transport = store.transport();
  const [silent, answered] = [
    transport.carry<[boolean]>([calls.resume()]),
    transport.carry<[boolean]>([calls.resume()]),
  ];
  expect((await answered)[0].ok).toBe(true);
  transport.close();
  queue.close();
  expect(await silent).toEqual([{ ok: false, error: new Error('the worker is being stopped') }]);
});
