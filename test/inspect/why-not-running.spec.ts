// Why a job does not run: each reason, of a real queue that was brought into it. And quiet, where queues are well.
import { describe, expect, it, jest } from '@jest/globals';
import { readJobSigns, whyNotRunning } from '#inspect/why-not-running.js';
import { readSigns } from '#inspect/signs.js';
import { verdictOf } from '#inspect/verdict.js';
import type { JobQueue } from '#queue/job-queue.js';
import { InvalidOptionError } from '#queue/errors/errors.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import { STUCK_AFTER_MS } from '#worker/attempt/overdue-handler.js';
import { eventually, gate, sleep } from '../support/faults/wait.js';
import { coreQueue } from '../support/queue/core-queue.js';
import { inside } from '../support/queue/inside.js';
import { uniqueQueueName } from '../support/redis/redis.js';
import { newQueue, startWorker } from '../support/worker/workers.js';

/** Returns the reasons, as the command line and the dashboard ask for them. */
async function why(queue: JobQueue, id: string) {
  const job = (await queue.get(id))!;
  return whyNotRunning(job, await readJobSigns(queue, job));
}

/** Makes the jobs of a queue wait since this many ms. */
async function aged(queue: JobQueue, ids: readonly string[], ms: number): Promise<void> {
  const { keys, client } = await redisOf(queue);
  const since = String(Date.now() - ms);
  await Promise.all(ids.map((id) => client.hset(keys.job(id), 'ready_at_ms', since, 'enqueued_at_ms', since)));
}

async function redisOf(queue: JobQueue) {
  const { keys } = await inside(queue).scripts();
  return { keys, client: inside(queue).connection.client };
}

/** Makes a queue whose live worker claims nothing, because its only slot is busy. */
async function busy(options: QueueOptions = {}) {
  const queue = newQueue(options);
  const { promise, open } = gate();
  await startWorker([{ queue, concurrency: 1, prefetch: 0, handlers: { [queue.name]: () => promise } }]);
  const running = await queue.enqueue(0);
  await eventually(async () => (await queue.get(running.id))?.status === 'processing');
  return { queue, running, open };
}

/** Lets a worker tell its state within 50 ms: each report finds the last one old. Its stuck check is as short. */
function hurry(): void {
  for (const [name, ms] of [
    ['setInterval', 10_000],
    ['setTimeout', STUCK_AFTER_MS],
  ] as const) {
    const start: (task: () => void, ms?: number) => NodeJS.Timeout = globalThis[name];
    jest
      .spyOn(globalThis, name)
      .mockImplementation((task: () => void, after) =>
        after === ms ? start(() => ageReports(task), 50) : start(task, after),
      );
  }
}

let aheadMs = 0;

/** Runs a task by a clock on which the last report is 20 s old. */
function ageReports(task: () => void): void {
  const now = performance.now.bind(performance);
  aheadMs += 20_000;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs);
  task();
  clock.mockRestore();
}

describe('a job does not run, because', () => {
  it('no worker serves its queue', async () => {
    const { queue } = coreQueue();
    const { id } = await queue.enqueue(1);
    await aged(queue, [id], 60_000);
    expect((await why(queue, id))!.because).toBe(`no live worker serves \`${queue.name}\``);
  });

  it('no worker handles its name', async () => {
    const { queue, open } = await busy();
    const { id } = await queue.enqueue(1, { name: 'emial' });
    await aged(queue, [id], 60_000);
    expect((await why(queue, id))!.because).toBe('no live worker handles `emial`');
    open();
  });

  it('its queue is paused', async () => {
    const { queue } = coreQueue();
    const { id } = await queue.enqueue(1);
    await expect(queue.pause({ by: '' })).rejects.toThrow(InvalidOptionError);
    await expect(queue.pause({ who: 'ada' } as never)).rejects.toThrow(InvalidOptionError);
    expect((await queue.stats()).pausedAt).toBeNull();
    await queue.pause();
    expect(await why(queue, id)).toMatchObject({
      because: expect.stringContaining('the queue was paused at '),
      next: `resume \`${queue.name}\` when its jobs may run again`,
    });
  });

  it('its delay is not over', async () => {
    const { queue } = coreQueue();
    const { id } = await queue.enqueue(1, { delayMs: 180_000 });
    expect((await why(queue, id))!.because).toBe('it starts in 3 min: its delay asks so');
  });

  it('its backoff is not over', async () => {
    const { queue } = coreQueue();
    const { id } = await queue.enqueue(1);
    await queue.fail((await queue.claim())!, new Error('down'), { delayMs: 60_000 });
    expect((await why(queue, id))!.because).toMatch(
      /^it starts in .*: attempt 1 failed, and its backoff is not over$/,
    );
  });

  it('it is due, and no worker has claimed it yet', async () => {
    const { queue } = coreQueue();
    const { id } = await queue.enqueue(1, { delayMs: 60_000 });
    const { keys, client } = await redisOf(queue);
    await client.hset(keys.job(id), 'due_at_ms', Date.now() - 1_000);
    expect((await why(queue, id))!.because).toBe('it is due, and the next claim or sweep takes it');
  });

  it('it is due, and no worker serves its queue', async () => {
    const { queue } = coreQueue();
    const { id } = await queue.enqueue(1, { delayMs: 60_000 });
    const { keys, client } = await redisOf(queue);
    const due = Date.now() - 20_000;
    await client.multi().hset(keys.job(id), 'due_at_ms', due).zadd(keys.scheduled, due, id).exec();
    expect((await why(queue, id))!.because).toBe(`no live worker serves \`${queue.name}\``);
    expect(verdictOf(await readSigns(queue))).toMatchObject({ severity: 'critical', state: 'stuck' });
  });

  it('handlers that do not end keep all slots', async () => {
    hurry();
    const { queue, running, open } = await busy();
    const { id } = await queue.enqueue(1);
    await queue.cancel(running.id); // its handler does not look at the signal
    await aged(queue, [id], 20_000);
    await eventually(async () => (await queue.workers())[0]?.stuck?.length === 1);
    expect((await why(queue, id))!.because).toMatch(/^handlers continue although their signal was aborted/);
    expect(verdictOf(await readSigns(queue)).summary).toContain('1 of 1 slots are kept');
    open();
  });

  it('other jobs must end before it', async () => {
    const { queue } = coreQueue();
    const [a, b] = await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
    const { id } = await queue.enqueue(3, { after: [a!.id, b!.id] });
    expect((await why(queue, id))!.because).toBe(`it starts after job ${a!.id} and 1 more`);
  });

  it('the rate of its queue is used up', async () => {
    const { queue } = coreQueue({ rateLimit: { limit: 1, periodMs: 3_600_000 } });
    await queue.limits.set({ rateLimit: { limit: 1, periodMs: 3_600_000 } });
    await queue.enqueue(1);
    const { id } = await queue.enqueue(2);
    await queue.claim();
    expect((await why(queue, id))!.because).toMatch(
      /^the queue has used up its rate limit of 1\/h; the next job may start in (1 h|60 min), set by .* ago$/,
    );
  });

  it('as many run as may, in the queue', async () => {
    const { queue, open } = await busy({ maxRunning: 1 });
    const { id } = await queue.enqueue(2);
    await aged(queue, [id], 20_000);
    expect((await why(queue, id))!.because).toBe('maxRunning is 1');
    open();
  });

  it('its group is paused', async () => {
    const { queue, open } = await busy();
    const { id } = await queue.enqueue(2, { group: 'ada' });
    await queue.groups.pause('ada', { by: 'bob', reason: 'a leak' });
    await aged(queue, [id], 120_000);
    expect((await why(queue, id))!.because).toMatch(/^its group `ada` has been paused for .* by bob: a leak$/);
    open();
  });

  it('as many run as may, in its group', async () => {
    const { queue } = coreQueue();
    await queue.groups.set('ada', { maxRunning: 1 });
    const [, second] = await queue.enqueueMany([1, 2].map((payload) => ({ payload, group: 'ada' })));
    await queue.claim();
    expect((await why(queue, second!.id))!.because).toBe('1 job of its group `ada` runs, as many as may');
  });

  it('as many run as may, in each group', async () => {
    const { queue } = coreQueue();
    await queue.limits.set({ groups: { maxRunning: 1 } });
    const [, second] = await queue.enqueueMany([1, 2].map((payload) => ({ payload, group: 'ada' })));
    await queue.claim();
    expect((await why(queue, second!.id))!.because).toBe('1 job of its group `ada` runs, as many as may');
  });

  it('its group has used up its rate', async () => {
    const { queue } = coreQueue();
    await queue.groups.set('ada', { rateLimit: { limit: 1, periodMs: 3_600_000 } });
    const [, second] = await queue.enqueueMany([1, 2].map((payload) => ({ payload, group: 'ada' })));
    await queue.claim();
    expect((await why(queue, second!.id))!.because).toMatch(/^its group `ada` rests for .*, as its rate asks$/);
  });

  it('its key of a limit has no free permit', async () => {
    const limit = uniqueQueueName('crm');
    const queue = newQueue({ limits: [{ limit, key: 'group' }] });
    const { promise, open } = gate();
    await startWorker([{ queue, handlers: { [queue.name]: () => promise } }], undefined, {
      limits: { [limit]: { maxRunning: 1 } },
    });
    const [, second] = await queue.enqueueMany([1, 2].map((payload) => ({ payload, group: 'ada' })));
    await eventually(async () => (await queue.sharedLimit(limit).get()).keys !== undefined, { timeoutMs: 10_000 });
    await eventually(async () => (await why(queue, second!.id))?.because.includes(limit));
    const words = `1 of 1 run (${queue.name} 1); waiting: ${queue.name}`;
    expect(await why(queue, second!.id)).toEqual({
      because: `its group \`ada\` waits for a permit of its key of the limit ${limit}: ${words}`,
      next: 'raise the limit of this key if this is too slow',
      remedy: { at: 'shared-limit' },
    });
    await aged(queue, [second!.id], 20_000);
    await eventually(async () => {
      const { state, summary } = verdictOf(await readSigns(queue));
      const key = `keys of the shared limit ${limit}: ada (1 runs, as many as may: ${queue.name} 1)`;
      return state === 'limited' && summary.startsWith(`limited by ${key}; 1 waiting for 20`);
    });
    open();
  });

  it('the head of its group waits for its retry', async () => {
    const { queue } = coreQueue();
    await queue.groups.set('ada', { maxRunning: 1, onDeadHead: 'hold' });
    const [first, second] = await queue.enqueueMany([1, 2].map((payload) => ({ payload, group: 'ada' })));
    await queue.fail((await queue.claim())!, new Error('down'), { delayMs: 60_000 });
    expect((await why(queue, second!.id))!.because).toBe(`its group \`ada\` waits for job ${first!.id}`);
  });

  it('others are before it, or it is next', async () => {
    const { queue } = coreQueue();
    const jobs = await queue.enqueueMany(Array.from({ length: 110 }, (_, payload) => ({ payload })));
    expect((await why(queue, jobs[109]!.id))!.because).toBe(
      'no worker serves the queue now, and other jobs are before it',
    );
    expect((await why(queue, jobs[20]!.id))!.because).toBe(
      'no worker serves the queue now, and 20 jobs are before it',
    );
    expect((await why(queue, jobs[0]!.id))!.because).toBe('no worker serves the queue now; it is next');
  });

  it('all slots are busy', async () => {
    const { queue, open } = await busy();
    const [first, second] = await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
    expect((await why(queue, first!.id))!.because).toBe('the only slot is busy; it is next');
    expect((await why(queue, second!.id))!.because).toBe('the only slot is busy, and 1 job is before it');
    open();
  });

  it('its worker has claimed it ahead, and has no slot for it', async () => {
    const queue = newQueue();
    const { promise, open } = gate();
    await startWorker([{ queue, concurrency: 1, prefetch: 1, handlers: { [queue.name]: () => promise } }]);
    const jobs = await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
    const records = () => Promise.all(jobs.map(async ({ id }) => (await queue.get(id))!));
    await eventually(async () => (await records()).every(({ status }) => status === 'processing'));
    const [first, second] = await records();
    expect([first!.unstarted, second!.unstarted]).toEqual([undefined, true]);
    expect(await why(queue, first!.id)).toBeUndefined();
    expect((await why(queue, second!.id))!.because).toBe(`claimed by ${second!.worker}, it waits there for a slot`);
    open();
    await eventually(async () => (await queue.get(second!.id))?.status === 'completed');
    expect(await queue.get(second!.id)).not.toHaveProperty('unstarted');
  });

  it('its worker is paused in its process', async () => {
    hurry();
    const queue = newQueue();
    const { worker } = await startWorker([{ queue, handlers: { [queue.name]: () => null } }]);
    worker.pause();
    await eventually(async () => (await queue.workers())[0]?.paused === true);
    const { id } = await queue.enqueue(1);
    expect((await why(queue, id))!.because).toBe(
      'all workers of the queue are paused in their process; it is next',
    );
    await aged(queue, [id], 120_000);
    expect((await why(queue, id))!.because).toBe('all its workers are paused in their process');
  });

  it('its handler snoozed it', async () => {
    const { queue } = coreQueue();
    const { id } = await queue.enqueue(1);
    await queue.release((await queue.claim())!, { delayMs: 60_000 });
    expect((await why(queue, id))!.because).toMatch(/^it starts in .*: its handler snoozed it$/);
  });

  it('it waits for a signal, or sleeps, and no promotion is advised', async () => {
    const { queue } = coreQueue();
    const { id } = await queue.enqueue(1);
    const park = async (wait: { name: string; kind: 'signal' | 'sleep'; timeoutMs?: number }) => {
      const claim = (await queue.claim())!;
      await queue.exec((calls) => calls.wait({ claim, ...wait }));
      await queue.exec((calls) => calls.release([{ ...claim, reason: 'wait', delayMs: 0 }]));
    };
    await park({ name: 'approved', kind: 'signal' });
    expect(await why(queue, id)).toEqual({
      because: expect.stringMatching(/^it waits for the signal approved, since \d+ m?s$/),
      next: 'send the signal, or cancel the job',
    });
    await queue.signal(id, 'approved');
    const claim = (await queue.claim())!;
    await queue.exec((calls) => calls.wait({ claim, name: 'approved', kind: 'signal' }));
    await queue.release(claim);
    await park({ name: 'nap', kind: 'sleep', timeoutMs: 3_600_000 });
    expect(await why(queue, id)).toEqual({
      because: expect.stringMatching(/^it sleeps: nap, since \d+ m?s, .* more$/),
    });
  });

  it('a client of the Redis pattern claimed it, and does not end it', async () => {
    const { queue } = coreQueue();
    const { id } = await queue.enqueue(1);
    const { keys, client } = await redisOf(queue);
    await client.lmove(keys.pending, keys.processing, 'RIGHT', 'LEFT');
    await client.hset(keys.job(id), 'status', 'processing', 'claimed_at_ms', Date.now());
    expect(await why(queue, id)).toBeUndefined();
    await client.hset(keys.job(id), 'claimed_at_ms', Date.now() - 120_000);
    expect((await why(queue, id))!.because).toBe('a client of the Redis pattern claimed it and has not ended it');
  });

  it('its claim has expired, and who takes it back', async () => {
    const queue = newQueue({ visibilityMs: 1_000 });
    const [gone] = await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
    await queue.claim({ worker: 'web-1' });
    await queue.claim({ worker: 'web-2' });
    const { keys, client } = await redisOf(queue);
    await client.zadd(keys.claims, 'XX', Date.now() + 60_000, (await queue.list('processing'))[1]!.id);
    await client.zadd(keys.claims, 'XX', Date.now() - 1_000, gone!.id);
    expect(await why(queue, gone!.id)).toMatchObject({
      because: 'its claim has expired: worker web-1 died, hangs, or is cut off',
      next: 'start a process whose maintenance is on: no process maintains the queue',
    });
    const other = (await queue.list('processing'))[1]!.id;
    expect(await why(queue, other)).toBeUndefined();
    await client.hset(keys.sweep, { last_run_at_ms: Date.now(), maintained_at_ms: Date.now() });
    expect((await why(queue, gone!.id))!.next).toBe('wait for the next maintenance, which reclaims it');
  });

  it('it waits in its worker to run alone, because another crash would be its last', async () => {
    const queue = newQueue({ maxCrashes: 2, maxAttempts: 5 }); // a short visibility timeout would end the wait
    const { promise, open } = gate();
    const started = await startWorker([{ queue, concurrency: 2, handlers: { [queue.name]: () => promise } }]);
    const { worker } = started;
    const { id: other } = await queue.enqueue('long');
    await started.event('started', 1, { id: other }); // a claimed job that has not begun goes back at the pause
    worker.pause();
    const { id } = await queue.enqueue('poison');
    await eventually(async () => (await queue.claim())?.id === id);
    const { keys, client } = await redisOf(queue);
    await client.zadd(keys.claims, 'XX', Date.now() - 1_000, id);
    await eventually(async () => (await queue.reclaim(), (await queue.get(id))!.crashes === 1));
    worker.resume();
    await eventually(async () => (await queue.get(id))?.isolated === true);
    expect(await queue.get(id)).toMatchObject({ status: 'processing', crashes: 1 });
    expect((await why(queue, id))!.because).toMatch(
      /^claimed by \S+, it waits there to run alone, because its worker died once$/,
    );
    open();
  });

  it('it is a member of a batch, and waits as others do', async () => {
    const { queue } = coreQueue();
    const batch = queue.batch({ then: { payload: { done: true } } });
    const [job] = await batch.addMany(queue.name, [{ payload: 1 }]);
    expect((await why(queue, job!.id))!.because).toBe('no worker serves the queue now; it is next');
  });

  it('it is the tick of a schedule, and waits as others do', async () => {
    const { queue } = coreQueue();
    await queue.schedules.upsert('nightly', { everyMs: 60_000 }, { payload: 1 });
    const { id } = await queue.schedules.runNow('nightly');
    expect((await why(queue, id))!.because).toBe('no worker serves the queue now; it is next');
  });

  it('it has ended', async () => {
    const { queue } = coreQueue();
    await queue.enqueue(1, { id: 'done' });
    await queue.complete((await queue.claim())!);
    await queue.enqueue(1, { id: 'cancelled', delayMs: 1_000 });
    await queue.cancel('cancelled');
    await queue.enqueue(1, { id: 'dead', maxAttempts: 1 });
    await queue.fail((await queue.claim())!, new Error('502 Bad Gateway'));
    expect((await why(queue, 'done'))!.because).toBe('it completed in attempt 1');
    expect((await why(queue, 'cancelled'))!.because).toBe('it was cancelled');
    expect(await why(queue, 'dead')).toEqual({
      because: 'it failed for good in attempt 1 of 1: 502 Bad Gateway',
      next: 'fix the cause, then redrive it',
    });
  });

  it('it has killed its worker', async () => {
    const queue = newQueue({ maxCrashes: 1 });
    const { id } = await queue.enqueue(1);
    await queue.claim();
    const { keys, client } = await redisOf(queue);
    await client.zadd(keys.claims, 'XX', Date.now() - 1_000, id);
    await eventually(async () => (await queue.reclaim(), (await queue.get(id))!.status === 'failed'));
    expect((await why(queue, id))!.next).toBe(
      'find why its worker died once, before it kills another; a redrive runs it alone in its worker',
    );
  });
});

it('a running job has no reason, except a cancel that its handler ignores', async () => {
  const { queue, running, open } = await busy();
  expect(await why(queue, running.id)).toBeUndefined();
  await queue.cancel(running.id);
  expect((await why(queue, running.id))!.because).toMatch(/^it runs; a cancel was asked for .* ago$/);
  open();
});

describe('the verdict of a real queue', () => {
  it('does not alarm if all groups are held back, and does if a plain job waits beside them', async () => {
    const { queue, open } = await busy();
    open();
    await eventually(async () => (await queue.stats()).processing === 0);
    await queue.groups.pause('ada');
    const jobs = await queue.enqueueMany([1, 2].map((payload) => ({ payload, group: 'ada' })));
    await aged(
      queue,
      jobs.map(({ id }) => id),
      120_000,
    );
    expect((await queue.stats()).heldByGroups).toBe(2);
    expect(verdictOf(await readSigns(queue))).toMatchObject({ severity: 'notice', state: 'limited' });
    await queue.groups.resume('ada');
    expect((await queue.stats()).heldByGroups).toBeUndefined();
  });

  it('is quiet where a shared limit cannot be read', async () => {
    const limit = uniqueQueueName();
    const queue = newQueue({ limits: [limit] });
    await startWorker(queue, () => undefined, { limits: { [limit]: {} } });
    await eventually(async () => (await queue.workers())[0]?.limits?.includes(limit) === true);
    const { keys, client } = await redisOf(queue);
    await client.set(keys.sharedLimit(limit)[1]!, 'of another program');
    expect(verdictOf(await readSigns(queue))).toMatchObject({ severity: 'ok', state: 'idle' });
  });

  it('is quiet on an idle queue, on one that works, and on a burst', async () => {
    const queue = newQueue();
    await startWorker([{ queue, concurrency: 2, handlers: { [queue.name]: () => sleep(1) } }]);
    expect(verdictOf(await readSigns(queue))).toMatchObject({ severity: 'ok', state: 'idle' });
    await queue.enqueueMany(Array.from({ length: 500 }, (_, payload) => ({ payload })));
    for (let left = 1; left > 0; left = (await queue.stats()).pending) {
      expect(verdictOf(await readSigns(queue)).severity).toBe('ok');
    }
  });
});
