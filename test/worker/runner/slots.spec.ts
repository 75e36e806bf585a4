// Jobs that take several slots: never more slots than there are, and no heavy job starves behind light ones.
import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { InvalidOptionError } from '#queue/errors/errors.js';
import { readSigns } from '#inspect/signs.js';
import { defineJob } from '#queue/enqueue/define-job.js';
import type { EnqueueOptions } from '#queue/enqueue/enqueue-options.js';
import type { JobQueue } from '#queue/job-queue.js';
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

it.each<[string, object, RegExp]>([
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

it('a definition says the slots of its jobs, and its enqueue stays plain', () => {
  const Render = defineJob('render', { payload: z.unknown(), slots: 3 });
  expect(defineHandler(Render, () => 1).slots).toBe(3);
  expect(Render.enqueueDefaults).toBeUndefined();
  const served = [{ queue: newQueue(), concurrency: 2, handlers: { render: defineHandler(Render, () => 1) } }];
  expect(() => new Worker(served)).toThrow(
    /render\.slots: expected at most the concurrency 2 of the queue, found 3/,
  );
});
