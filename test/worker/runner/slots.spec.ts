// Jobs that take several slots: never more slots than there are, and no heavy job starves behind light ones.
import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { InvalidOptionError } from '#queue/errors/errors.js';
import { readSigns } from '#inspect/signs.js';
import { defineJob } from '#queue/enqueue/define-job.js';
import type { EnqueueOptions } from '#queue/enqueue/enqueue-options.js';
import type { JobQueueOptions } from '#queue/enqueue/enqueue-middleware.js';
import type { JobQueue } from '#queue/job-queue.js';
import type { SlotRange } from '#queue/model/slots.js';
import { defineHandler } from '#worker/handlers/define-handler.js';
import type { HandlerFunction } from '#worker/handlers/handler.js';
import type { Job } from '#worker/handlers/job.js';
import type { WorkerQueue } from '#worker/worker-options.js';
import { Worker } from '#worker/worker.js';
import { eventually, gate, sleep } from '../../support/faults/wait.js';
import { serverOf } from '../../support/queue/inside.js';
import { newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';

/** Counts the slots in use, and the order of starts. */
class Meter {
  used = 0;
  most = 0;
  readonly started: string[] = [];

  /** Returns a handler whose jobs take this number of slots. */
  of(slots: number, run: (job: Job<never>) => unknown): { handle: HandlerFunction; slots: number } {
    const handle = async (job: Job<never>) => {
      this.started.push(job.name);
      this.used += slots;
      this.most = Math.max(this.most, this.used);
      try {
        return await run(job);
      } finally {
        this.used -= slots;
      }
    };
    return { handle, slots };
  }
}

/** Starts a worker whose heavy job is claimed, and waits for the slot of a light one. */
async function heavyWaits(queue: JobQueue, options: EnqueueOptions = {}) {
  const meter = new Meter();
  const done = gate();
  const handlers = { light: meter.of(1, () => done.promise), heavy: meter.of(2, () => 'done') };
  await queue.enqueue(1, { name: 'light' });
  const heavy = await queue.enqueue(1, { ...options, name: 'heavy' });
  await queue.enqueue(1, { name: 'light' });
  const started = await startWorker([{ queue, concurrency: 2, handlers }]);
  await eventually(async () => (await queue.get(heavy.id))!.status === 'processing');
  return { meter, done, heavy, worker: started.worker, event: started.event.bind(started) };
}

/** Expires the claim of a job and reclaims it, as after the death of its worker. */
async function reclaim(queue: JobQueue, id: string): Promise<void> {
  const { client, scripts } = await serverOf(queue);
  await client.zadd(scripts.keys.claims, 'XX', 1, id);
  expect((await queue.reclaim()).reclaimed).toEqual([{ id, status: 'pending' }]);
}

/** Lets a worker extend its claims now. */
async function beat(worker: Worker): Promise<void> {
  const { loops } = worker as unknown as { loops: { heartbeats: { runOnce(): Promise<void> }[] } };
  await Promise.all(loops.heartbeats.map((each) => each.runOnce()));
}

onEachStore('slots', () => {
  it.each([
    ['its queue', false],
    ['the process, beside another queue', true],
  ])('a heavy job starts in %s, although light ones never end', async (_, areApart) => {
    const meter = new Meter();
    const lightQueue = newQueue();
    const heavyQueue = areApart ? newQueue() : lightQueue;
    let isOver = false;
    const light = meter.of(1, async () => {
      if (!isOver)
        await lightQueue.enqueueMany([
          { payload: 1, name: 'light' },
          { payload: 1, name: 'light' },
        ]);
      await sleep(2);
    });
    const heavy = meter.of(4, () => sleep(5));
    const queues: WorkerQueue[] = areApart
      ? [
          { queue: lightQueue, concurrency: 4, handlers: { light } },
          { queue: heavyQueue, concurrency: 4, handlers: { heavy } },
        ]
      : [{ queue: lightQueue, concurrency: 4, handlers: { light, heavy } }];
    await lightQueue.enqueueMany(Array.from({ length: 8 }, () => ({ payload: 1, name: 'light' })));
    await startWorker(queues, undefined, areApart ? { concurrency: 4 } : {});
    await eventually(() => meter.started.length > 20);
    const jobs = await heavyQueue.enqueueMany([1, 2, 3].map((payload) => ({ payload, name: 'heavy', lifo: true })));
    await Promise.all(jobs.map((job) => job.result({ timeoutMs: 20_000 })));
    isOver = true;
    expect(meter.most).toBe(4);
    expect(meter.started.filter((name) => name === 'heavy')).toHaveLength(3);
    await eventually(async () => (await lightQueue.stats()).pending + meter.used === 0);
  });

  it.each([4, 8])('light jobs start beside a queue of heavy ones in a process of %i slots', async (concurrency) => {
    const meter = new Meter();
    const [heavyQueue, lightQueue] = [newQueue(), newQueue()];
    await heavyQueue.enqueueMany(Array.from({ length: 24 }, () => ({ payload: 1, name: 'heavy' })));
    await lightQueue.enqueueMany(Array.from({ length: 8 }, () => ({ payload: 1, name: 'light' })));
    const queues: WorkerQueue[] = [
      { queue: heavyQueue, handlers: { heavy: meter.of(4, () => sleep(3)) } },
      { queue: lightQueue, handlers: { light: meter.of(1, () => sleep(3)) } },
    ];
    await startWorker(queues, undefined, { concurrency });
    await eventually(() => meter.started.length === 32);
    expect(meter.most).toBeLessThanOrEqual(concurrency);
    expect(meter.started.lastIndexOf('light')).toBeLessThan(24); // while heavy ones still wait
  });

  it('as many run at once as fit, and a lighter one beside them', async () => {
    const queue = newQueue();
    const meter = new Meter();
    const done = gate();
    const handlers = { heavy: meter.of(2, () => done.promise), light: meter.of(1, () => done.promise) };
    await queue.enqueueMany(['heavy', 'heavy', 'light', 'heavy'].map((name) => ({ payload: 1, name })));
    const { worker } = await startWorker([{ queue, concurrency: 5, handlers }]);
    await eventually(() => meter.used === 5);
    expect(worker.running).toBe(3);
    expect(meter.started).toEqual(['heavy', 'heavy', 'light']);
    done.open();
    await eventually(async () => (await queue.stats()).totals['completed'] === 4);
    expect(meter.most).toBe(5);
  });

  it('claims no more of a queue of heavy jobs than fit', async () => {
    const queue = newQueue();
    const meter = new Meter();
    const done = gate();
    await queue.enqueueMany(Array.from({ length: 6 }, () => ({ payload: 1, name: 'heavy' })));
    await startWorker([{ queue, concurrency: 5, handlers: { heavy: meter.of(2, () => done.promise) } }]);
    await eventually(() => meter.used === 4);
    expect(await queue.stats()).toMatchObject({ pending: 4, processing: 2 });
    done.open();
    await eventually(async () => (await queue.stats()).totals['completed'] === 6);
    expect(meter.most).toBe(4);
  });

  it('a heavy job that was claimed waits unstarted, and holds back what comes after it', async () => {
    const queue = newQueue();
    const { meter, done, heavy } = await heavyWaits(queue);
    expect(await queue.get(heavy.id)).toMatchObject({ unstarted: true });
    expect(meter.started).toEqual(['light']);
    expect((await queue.stats()).pending).toBe(1);
    done.open();
    expect(await heavy.result({ timeoutMs: 20_000 })).toBe('done');
    await eventually(() => meter.started.length === 3);
    expect(meter.started).toEqual(['light', 'heavy', 'light']);
  });

  it.each<[string, JobQueueOptions]>([
    ['no limit', {}],
    ['maxRunning', { maxRunning: 5 }],
    ['a rate', { rateLimit: { limit: 1_000, periodMs: 1_000, burst: 100 } }],
    ['groups of a limit', { groups: { maxRunning: 2 } }],
    ['groups of one slot', { groups: { maxRunning: 1 } }],
  ])('under %s a light job starts although the free slots are too few for a heavy one', async (_, limits) => {
    const queue = newQueue(limits);
    const meter = new Meter();
    const done = gate();
    const handlers = { light: meter.of(1, () => done.promise), heavy: meter.of(3, () => done.promise) };
    const names = ['light', 'light', 'heavy', 'light'];
    await queue.enqueueMany(
      names.map((name, i) => ({ payload: 1, name, ...(limits.groups && { group: `${i}` }) })),
    );
    await startWorker([{ queue, concurrency: 3, handlers }]);
    await eventually(async () => (await queue.stats()).processing === 3);
    expect(meter.started).toEqual(['light', 'light']);
    const [waiting] = (await queue.list('processing')).filter(({ name }) => name === 'heavy');
    expect(waiting).toMatchObject({ unstarted: true });
    done.open();
    await eventually(async () => (await queue.stats()).totals['completed'] === 4);
    expect(meter.started).toEqual(names);
    expect(meter.most).toBe(3);
  });

  it('a cancel ends it while it waits, and what comes after it goes on at once', async () => {
    const queue = newQueue({ visibilityMs: 1_000 }); // whose heartbeat brings the cancel
    const { meter, done, heavy } = await heavyWaits(queue);
    await heavy.cancel();
    await eventually(async () => (await queue.get(heavy.id))!.status === 'cancelled');
    await eventually(() => meter.started.length === 2);
    expect(meter.started).toEqual(['light', 'light']);
    done.open();
  });

  it('a shutdown gives it back, with all its attempts', async () => {
    const queue = newQueue();
    const { done, heavy, worker } = await heavyWaits(queue);
    const stopped = worker.stop({ timeoutMs: 2_000 });
    await eventually(async () => (await queue.get(heavy.id))!.status === 'pending');
    done.open();
    await stopped;
    expect(await queue.get(heavy.id)).toMatchObject({ attempts: 0, crashes: 0 });
  });

  it('the death of its worker takes none of its attempts', async () => {
    const queue = newQueue();
    const { done, heavy } = await heavyWaits(queue);
    await reclaim(queue, heavy.id);
    expect(await queue.get(heavy.id)).toMatchObject({ status: 'pending', attempts: 0, crashes: 0 });
    done.open();
  });

  it('a lost claim takes it out of the line at once, and another worker has it', async () => {
    const queue = newQueue();
    const { meter, done, heavy, worker, event } = await heavyWaits(queue);
    await reclaim(queue, heavy.id);
    const [other] = await queue.claimMany(1);
    expect(other!.id).toBe(heavy.id);
    await beat(worker);
    await event('lost', 1, { id: heavy.id });
    await eventually(() => meter.started.length === 2);
    expect(meter.started).toEqual(['light', 'light']);
    expect(await queue.complete(other!, 'elsewhere')).toBe(true);
    done.open();
  });

  it('it expires while it waits, and fails without a start', async () => {
    const queue = newQueue();
    const { meter, done, heavy, event } = await heavyWaits(queue, { expiresInMs: 60_000 });
    const { client, scripts } = await serverOf(queue);
    await client.hset(scripts.keys.job(heavy.id), 'expires_at_ms', 1);
    done.open();
    const failed = await event('failed', 1, { id: heavy.id });
    expect(failed).toMatchObject({ job: { attempt: 0 }, error: { name: 'JobExpired' } });
    await eventually(() => meter.started.length === 2);
    expect(meter.started).toEqual(['light', 'light']);
  });

  it('a lower concurrency lets it wait until fewer run', async () => {
    const queue = newQueue();
    const meter = new Meter();
    const ends = [gate(), gate()];
    const handlers = {
      light: meter.of(1, (job: Job<number>) => ends[job.payload]!.promise),
      heavy: meter.of(2, () => 'done'),
    };
    const lights = await queue.enqueueMany([0, 1].map((payload) => ({ payload, name: 'light' })));
    const heavy = await queue.enqueue(1, { name: 'heavy' });
    const { worker } = await startWorker([{ queue, concurrency: 3, handlers }]);
    await eventually(async () => (await queue.get(heavy.id))!.status === 'processing');
    worker.setConcurrency(queue.name, 2);
    ends[0]!.open();
    await lights[0]!.result();
    expect(await queue.get(heavy.id)).toMatchObject({ unstarted: true });
    ends[1]!.open();
    expect(await heavy.result({ timeoutMs: 20_000 })).toBe('done');
    expect(meter.most).toBe(2);
  });

  it('another worker learns what its jobs take, and the signs count slots', async () => {
    const queue = newQueue();
    const done = gate();
    const handlers = { heavy: { handle: () => done.promise, slots: 2 }, light: () => done.promise };
    const names = ['heavy', 'light', 'heavy', 'light'];
    await queue.enqueueMany(names.map((name) => ({ payload: 1, name })));
    await startWorker([{ queue, concurrency: 5, handlers }]);
    await eventually(async () => (await queue.stats()).processing === 3);
    const weights = [
      { name: 'heavy', slots: 2 },
      { name: 'light', slots: 1 },
    ];
    await eventually(async () => (await queue.workers())[0]?.weights);
    expect((await queue.workers())[0]).toMatchObject({ slots: 5, weights });
    expect(await readSigns(queue)).toMatchObject({ stats: { processing: 3 }, slots: 5, usedSlots: 5 });
    done.open();
  });
});

onEachStore('slots of an enqueue', () => {
  const RANGE = { default: 1, most: 4 };

  /** Returns a handler with a range. The payload of a job is the number of slots that it should take. */
  function ranged(meter: Meter, run: (job: Job<number>) => unknown, slots: SlotRange = RANGE) {
    const handle = (job: Job<number>) => meter.of(job.payload, run).handle(job);
    return { handle, slots };
  }

  it.each([
    ['its queue', false],
    ['the process, beside another queue', true],
  ])('a heavy job starts in %s, although light ones never end', async (_, areApart) => {
    const meter = new Meter();
    const lightQueue = newQueue();
    const heavyQueue = areApart ? newQueue() : lightQueue;
    let isOver = false;
    const handler = ranged(meter, async (job) => {
      if (!isOver && job.payload === 1)
        await lightQueue.enqueueMany([
          { payload: 1, name: 'any' },
          { payload: 1, name: 'any' },
        ]);
      await sleep(2);
    });
    const served = new Set([lightQueue, heavyQueue]);
    const queues = [...served].map((queue) => ({ queue, concurrency: 4, handlers: { any: handler } }));
    await lightQueue.enqueueMany(Array.from({ length: 8 }, () => ({ payload: 1, name: 'any' })));
    await startWorker(queues, undefined, areApart ? { concurrency: 4 } : {});
    await eventually(() => meter.started.length > 20);
    const jobs = await heavyQueue.enqueueMany(
      [4, 3, 4].map((payload) => ({ payload, name: 'any', slots: payload, lifo: true })),
    );
    await Promise.all(jobs.map((job) => job.result({ timeoutMs: 20_000 })));
    isOver = true;
    expect(meter.most).toBe(4);
    await eventually(async () => (await lightQueue.stats()).pending + meter.used === 0);
  });

  it('a job takes what its enqueue says, else the default, and never more than the most', async () => {
    const queue = newQueue();
    const meter = new Meter();
    const done = gate();
    const handlers = { any: ranged(meter, () => done.promise, { default: 2, most: 4 }) };
    await queue.enqueueMany([
      { payload: 1, name: 'any', slots: 1 },
      { payload: 2, name: 'any' },
      { payload: 4, name: 'any', slots: 9 },
    ]);
    await startWorker([{ queue, concurrency: 7, handlers }]);
    await eventually(() => meter.used === 7);
    done.open();
    await eventually(async () => (await queue.stats()).totals['completed'] === 3);
    expect(meter.most).toBe(7);
  });

  it('under a limit that queues share all jobs end, within the slots', async () => {
    const limit = newQueue().name;
    const queue = newQueue({ limits: [limit] });
    const meter = new Meter();
    const jobs = [1, 4, 2, 1, 3, 4].map((payload) => ({ payload, name: 'any', slots: payload }));
    const handles = await queue.enqueueMany(jobs);
    const served = [{ queue, concurrency: 5, handlers: { any: ranged(meter, () => sleep(2)) } }];
    await startWorker(served, undefined, { limits: { [limit]: { maxRunning: 2 } } });
    await Promise.all(handles.map((job) => job.result({ timeoutMs: 20_000 })));
    expect(meter.most).toBeLessThanOrEqual(5);
  });

  it('light jobs fill all slots', async () => {
    const queue = newQueue();
    const meter = new Meter();
    const done = gate();
    await queue.enqueueMany(Array.from({ length: 12 }, () => ({ payload: 1, name: 'any' })));
    await startWorker([{ queue, concurrency: 10, handlers: { any: ranged(meter, () => done.promise) } }]);
    await eventually(() => meter.used === 10);
    expect(await queue.stats()).toMatchObject({ pending: 2, processing: 10 });
    done.open();
    await eventually(async () => (await queue.stats()).totals['completed'] === 12);
    expect(meter.most).toBe(10);
  });

  it('at most one claimed job waits for its slots, however many heavy ones there are', async () => {
    const queue = newQueue();
    const meter = new Meter();
    const done = gate();
    const heavy = Array.from({ length: 10 }, () => ({ payload: 4, name: 'any', slots: 4 }));
    await queue.enqueueMany([{ payload: 1, name: 'any' }, ...heavy]);
    await startWorker([{ queue, concurrency: 10, handlers: { any: ranged(meter, () => done.promise) } }]);
    await eventually(async () => meter.used === 9 && (await queue.stats()).processing === 4);
    const claimed = await queue.list('processing');
    expect(claimed.filter(({ unstarted }) => unstarted)).toHaveLength(1);
    expect(await queue.stats()).toMatchObject({ pending: 7, processing: 4 });
    done.open();
    await eventually(async () => (await queue.stats()).totals['completed'] === 11);
    expect(meter.most).toBeLessThanOrEqual(10);
  });

  it('a handler with a number of its own takes that, whatever the enqueue says', async () => {
    const queue = newQueue();
    const meter = new Meter();
    const done = gate();
    await queue.enqueueMany([1, 2, 3].map((slots) => ({ payload: 1, name: 'fixed', slots })));
    await startWorker([{ queue, concurrency: 4, handlers: { fixed: meter.of(2, () => done.promise) } }]);
    await eventually(() => meter.used === 4);
    expect(await queue.stats()).toMatchObject({ pending: 1, processing: 2 });
    done.open();
    await eventually(async () => (await queue.stats()).totals['completed'] === 3);
  });

  it('it keeps them over a retry, a death, a redrive, another run, and from a schedule or a batch', async () => {
    const queue = newQueue();
    const seen = async (id: string) => {
      const claim = (await queue.claim())!;
      expect([claim.id, claim.options.slots, (await queue.get(id))!.slots]).toEqual([id, 3, 3]);
      return claim;
    };
    const job = await queue.enqueue(1, { slots: 3, maxAttempts: 2, backoff: 0 });
    await queue.fail(await seen(job.id), new Error('no'));
    await queue.fail(await seen(job.id), new Error('no'));
    await queue.deadLetters.redrive(job.id);
    await seen(job.id);
    await reclaim(queue, job.id);
    await queue.complete(await seen(job.id));
    await queue.runAgain(job.id);
    await queue.complete(await seen(job.id));
    const dead = await queue.enqueue(1, { slots: 3, maxAttempts: 1 });
    await queue.fail(await seen(dead.id), new Error('no'));
    const anew = await queue.deadLetters.redriveAsNew(dead.id);
    await queue.complete(await seen((anew as { id: string }).id));
    await queue.schedules.upsert('nightly', { everyMs: 86_400_000 }, { name: 'any', slots: 3 });
    const [schedule] = await queue.schedules.list();
    expect(schedule!.options).toMatchObject({ slots: 3 });
    const { id: tick } = await queue.schedules.runNow('nightly');
    await queue.complete(await seen(tick));
    const batch = queue.batch({ then: { name: 'any', slots: 3 } });
    const member = await batch.add('any', 1, { slots: 3 });
    await batch.seal();
    await queue.complete(await seen(member.id));
    const follow = (await queue.claim())!;
    expect(follow.options).toMatchObject({ slots: 3, batch: batch.id });
  });

  it('a worker announces its range, and the signs count what each job takes', async () => {
    const queue = newQueue();
    const done = gate();
    const handlers = { any: { handle: () => done.promise, slots: RANGE }, light: () => done.promise };
    await queue.enqueueMany([
      { payload: 1, name: 'any', slots: 3 },
      { payload: 1, name: 'any', slots: 9 },
      { payload: 1, name: 'any' },
      { payload: 1, name: 'light' },
    ]);
    await startWorker([{ queue, concurrency: 20, handlers }]);
    const weights = [
      { name: 'any', slots: 1, most: 4 },
      { name: 'light', slots: 1 },
    ];
    await eventually(async () => (await queue.workers())[0]?.weights && (await queue.stats()).processing === 4);
    expect((await queue.workers())[0]).toMatchObject({ slots: 20, weights });
    expect(await readSigns(queue)).toMatchObject({ slots: 20, usedSlots: 9 });
    done.open();
  });
});

it.each<[string, object, RegExp]>([
  [
    'of an enqueue above the concurrency of its queue',
    { handlers: { heavy: { handle: () => 1, slots: { most: 11 } } } },
    /heavy\.slots\.most: expected at most the concurrency 10 of the queue, found 11/,
  ],
  [
    'of an enqueue beside a bulk handler',
    { handlers: { heavy: { handle: () => 1, slots: { most: 2 } }, all: { handle: () => [], bulk: { size: 2 } } } },
    /heavy\.slots\.most: expected none beside a bulk handler, found 2/,
  ],
  [
    'of an enqueue beside a prefetch',
    { prefetch: 3, handlers: { heavy: { handle: () => 1, slots: { most: 2 } } } },
    /prefetch: expected 0, or none beside `slots`, found 3/,
  ],
  [
    'with a default above the most',
    { handlers: { heavy: { handle: () => 1, slots: { default: 3, most: 2 } } } },
    /heavy\.slots: expected a default of at most `most`, found/,
  ],
  [
    'with a range without an end',
    { handlers: { heavy: { handle: () => 1, slots: { default: 3 } } } },
    /heavy\.slots\.most: expected a whole number from 1 to 1000, found undefined/,
  ],
  [
    'above the concurrency of its queue',
    { concurrency: 3 },
    /heavy\.slots: expected at most the concurrency 3 of the queue, found 4\. .*Raise `concurrency`/,
  ],
  [
    'above the default concurrency',
    { handlers: { heavy: { handle: () => 1, slots: 11 } } },
    /at most the concurrency 10 of the queue, found 11/,
  ],
  [
    'beside a bulk handler',
    { handlers: { heavy: { handle: () => 1, slots: 2 }, all: { handle: () => [], bulk: { size: 2 } } } },
    /none beside a bulk handler, found 2/,
  ],
  [
    'of a handler of failures above the concurrency',
    { onFailed: { email: { handle: () => 1, slots: 20 } } },
    /onFailed\.email\.slots: expected at most the concurrency 10 of the queue, found 20/,
  ],
  [
    'of a handler of failures beside a bulk handler',
    {
      handlers: { all: { handle: () => [], bulk: { size: 2 } } },
      onFailed: { email: { handle: () => 1, slots: 2 } },
    },
    /onFailed\.email\.slots: expected none beside a bulk handler, found 2/,
  ],
  [
    'beside a prefetch',
    { prefetch: 3 },
    /worker queue ".*"\.prefetch: expected 0, or none beside `slots`, found 3/,
  ],
  ['of nothing', { handlers: { heavy: { handle: () => 1, slots: 0 } } }, /slots: expected/],
])('refuses slots %s', (_, entry, message) => {
  const queue = newQueue();
  const handlers = { heavy: { handle: () => 1, slots: 4 } };
  expect(() => new Worker([{ queue, handlers, ...entry }])).toThrow(message);
});

it('refuses slots above the concurrency of the process, and a concurrency below the slots', async () => {
  const queue = newQueue();
  const served = [{ queue, handlers: { heavy: { handle: () => 1, slots: 4 } } }];
  expect(() => new Worker(served, { concurrency: 3 })).toThrow(/at most the concurrency 3 of the process, found 4/);
  const { worker } = await startWorker(served);
  expect(() => worker.setConcurrency(queue.name, 3)).toThrow(InvalidOptionError);
  worker.setConcurrency(queue.name, 4);
});

it('refuses a concurrency below the most slots of an enqueue, and slots that are no number there', async () => {
  const queue = newQueue();
  const { worker } = await startWorker([{ queue, handlers: { heavy: { handle: () => 1, slots: { most: 4 } } } }]);
  expect(() => worker.setConcurrency(queue.name, 3)).toThrow(InvalidOptionError);
  await expect(queue.enqueue(1, { slots: { most: 2 } as never })).rejects.toThrow(
    'slots: expected a whole number from 1 to 1000',
  );
  expect(await queue.stats()).toMatchObject({ pending: 0 });
});

it('a definition says the slots of its jobs, and its enqueue stays plain', () => {
  const Render = defineJob('render', { payload: z.unknown(), slots: 3 });
  expect(defineHandler(Render, () => 1).slots).toBe(3);
  expect(Render.enqueueDefaults).toBeUndefined();
  const Ranged = defineJob('render', { payload: z.unknown(), slots: { default: 2, most: 4 } });
  expect(defineHandler(Ranged, () => 1).slots).toEqual({ default: 2, most: 4 });
  expect(Ranged.enqueueDefaults).toBeUndefined();
  const served = [{ queue: newQueue(), concurrency: 2, handlers: { render: defineHandler(Render, () => 1) } }];
  expect(() => new Worker(served)).toThrow(
    /render\.slots: expected at most the concurrency 2 of the queue, found 3/,
  );
});
