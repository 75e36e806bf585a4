// Bulk handlers: several jobs in one call, each with a claim, a signal and an end of its own.
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineJob } from '#queue/enqueue/define-job.js';
import { InvalidOptionError, NonRetryableError, RetryLaterError } from '#queue/errors/errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import { defineBulkHandler } from '#worker/handlers/define-handler.js';
import type { BulkCall, BulkHandler, BulkOutcomes, HandlerOptions } from '#worker/handlers/handler.js';
import type { Job } from '#worker/handlers/job.js';
import type { WorkerOptions } from '#worker/worker-options.js';
import { eventually, gate } from '../../support/faults/wait.js';
import { queueOn } from '../../support/queue/queue-state.js';
import { connect } from '../../support/redis/redis.js';
import { newQueue, onEachStore, startWorker, untilAborted, type TestWorker } from '../../support/worker/workers.js';

type Handle = (jobs: Job<never>[], call: BulkCall) => BulkOutcomes | Promise<BulkOutcomes>;
interface Setup extends HandlerOptions {
  size?: number;
  waitMs?: number;
  by?: 'group';
  concurrency?: number;
  worker?: WorkerOptions;
}

function start(queue: JobQueue, handle: Handle, setup: Setup = {}): Promise<TestWorker> {
  const { size = 10, waitMs = 0, by, concurrency, worker, ...options } = setup;
  const handler = { ...options, bulk: { size, waitMs, ...(by && { by }) }, handle } as BulkHandler;
  return startWorker([{ queue, concurrency, handlers: { [queue.name]: handler } }], undefined, worker);
}

function add(queue: JobQueue, count: number, options = {}) {
  return queue.enqueueMany(Array.from({ length: count }, (_, payload) => ({ payload, ...options })));
}

onEachStore('a call', () => {
  it('gets up to size jobs in their order, and gives each its result', async () => {
    const queue = newQueue();
    const handles = await add(queue, 25);
    const sizes: number[] = [];
    await start(queue, (jobs) => {
      sizes.push(jobs.length);
      return jobs.map(({ payload }) => (payload as number) * 2);
    });
    expect(await Promise.all(handles.map((job) => job.result()))).toEqual(handles.map((_, i) => i * 2));
    expect(Math.max(...sizes)).toBe(10);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(25);
  });

  it('waits for others as long as waitMs says, and begins at once when it is full', async () => {
    const queue = newQueue();
    const calls: unknown[][] = [];
    await start(queue, (jobs) => void calls.push(jobs.map(({ payload }) => payload)), { size: 3, waitMs: 60_000 });
    await queue.enqueue(1);
    await queue.enqueue(2);
    expect(calls).toEqual([]);
    await (await queue.enqueue(3)).result();
    expect(calls).toEqual([[1, 2, 3]]);
    const late = newQueue();
    await start(late, (jobs) => void calls.push(jobs.map(({ payload }) => payload)), { size: 3, waitMs: 30 });
    await (await late.enqueue('alone')).result();
    expect(calls.at(-1)).toEqual(['alone']);
  });

  it('by group has jobs of one group, or those without, and calls of other groups wait for a slot', async () => {
    const queue = newQueue();
    const open = gate();
    const calls: (string | undefined)[][] = [];
    await queue.enqueueMany(
      ['a', 'b', 'a', undefined, 'b', 'a', undefined].map((group) => ({ payload: 1, ...(group && { group }) })),
    );
    await start(
      queue,
      async (jobs) => {
        calls.push(jobs.map(({ group }) => group));
        await open.promise;
      },
      { size: 3, waitMs: 20, by: 'group', concurrency: 1 },
    );
    await eventually(() => calls.length === 1);
    expect((await queue.stats()).processing).toBeLessThanOrEqual(3); // a call, and no more than fit into it
    open.open();
    await eventually(async () => (await queue.stats()).totals['completed'] === 7);
    expect(calls.map((groups) => new Set(groups).size)).toEqual(calls.map(() => 1));
    expect(
      calls
        .flat()
        .map(String)
        .toSorted((a, b) => a.localeCompare(b)),
    ).toEqual(['a', 'a', 'a', 'b', 'b', 'undefined', 'undefined']);
  });

  it('by group waits for no jobs while none is claimed', async () => {
    const queue = newQueue();
    await queue.enqueueMany(Array.from({ length: 35 }, (_, i) => ({ payload: i, group: `g${i % 7}` })));
    await start(queue, () => undefined, { size: 3, waitMs: 60_000, by: 'group', concurrency: 1 });
    // What is left of each group is fewer than a call, and waits for others that may still come.
    await eventually(async () => (await queue.stats()).totals['completed']! >= 35 - 7 * 2);
  });

  it('waits for no jobs that a limit of the queue holds back', async () => {
    const queue = newQueue({ maxRunning: 4 });
    const handles = await add(queue, 10);
    await start(queue, () => undefined, { size: 10, waitMs: 60_000 });
    await Promise.all(handles.slice(0, 8).map((job) => job.result()));
  });

  it.each([1, 2])('waits for no jobs while the %i slots of the process are used', async (concurrency) => {
    const queue = newQueue();
    await add(queue, 25);
    await start(queue, () => undefined, { size: 10, waitMs: 60_000, worker: { concurrency } });
    await eventually(async () => (await queue.stats()).completed >= 20);
  });

  it('by group keeps the limit of the process, beside other queues', async () => {
    const [queue, other] = [newQueue(), newQueue()];
    let running = 0;
    let most = 0;
    const work = async () => {
      most = Math.max(most, ++running);
      await new Promise(setImmediate);
      running--;
    };
    for (const each of [queue, other]) {
      await each.enqueueMany(Array.from({ length: 60 }, (_, i) => ({ payload: i, group: `g${i % 20}` })));
    }
    const bulk: BulkHandler = { bulk: { size: 3, waitMs: 60_000, by: 'group' }, handle: work };
    const plain = newQueue();
    await add(plain, 30);
    await startWorker(
      [
        { queue, concurrency: 10, handlers: { [queue.name]: bulk } },
        { queue: other, concurrency: 10, handlers: { [other.name]: bulk } },
        { queue: plain, concurrency: 10, handlers: { [plain.name]: work } },
      ],
      undefined,
      { concurrency: 2 },
    );
    await eventually(async () => (await plain.stats()).completed === 30);
    await eventually(async () => (await queue.stats()).completed >= 58 && (await other.stats()).completed >= 58);
    expect(most).toBeLessThanOrEqual(2);
  });

  it('counts as one of concurrency, however many jobs it has, and claims no more than fit', async () => {
    const queue = newQueue();
    const end = gate();
    let calls = 0;
    let most = 0;
    await add(queue, 50);
    await start(
      queue,
      async () => {
        most = Math.max(most, ++calls);
        await end.promise;
        calls--;
      },
      { concurrency: 2 },
    );
    await eventually(async () => calls === 2);
    expect(await queue.stats()).toMatchObject({ pending: 30, processing: 20 });
    end.open();
    await eventually(async () => (await queue.stats()).completed === 50);
    expect(most).toBe(2);
  });

  it('of every name counts as one too', async () => {
    const queue = newQueue();
    let [calls, most] = [0, 0];
    await add(queue, 60, { name: 'any' });
    const handle = async () => {
      most = Math.max(most, ++calls);
      await new Promise(setImmediate);
      calls--;
    };
    const handlers = { '*': { bulk: { size: 3, waitMs: 0 }, handle } };
    await startWorker([{ queue, concurrency: 2, handlers }]);
    await eventually(async () => (await queue.stats()).completed === 60);
    expect(most).toBe(2);
  });

  it('under a limit of the process counts as one too', async () => {
    const queue = newQueue();
    const end = gate();
    let calls = 0;
    await add(queue, 50);
    await start(queue, async () => {
      calls++;
      await end.promise;
    }, { concurrency: 5, worker: { concurrency: 2 } }); // prettier-ignore
    await eventually(async () => calls === 2);
    expect(await queue.stats()).toMatchObject({ pending: 30, processing: 20 });
    end.open();
    await eventually(async () => (await queue.stats()).completed === 50);
  });
});

describe('each job ends by its own outcome', () => {
  it('an Error in its place fails it, and says by itself whether it is tried again', async () => {
    const queue = newQueue();
    const handles = await add(queue, 4);
    await start(queue, (jobs) =>
      jobs.map(({ payload, attempt }) =>
        payload === 1
          ? new NonRetryableError('never')
          : payload === 2 && attempt === 1
            ? new Error('again')
            : payload === 3
              ? new RetryLaterError(60_000)
              : `done ${attempt}`,
      ),
    );
    expect(await handles[0]!.result()).toBe('done 1');
    await expect(handles[1]!.result()).rejects.toThrow('never');
    expect(await handles[2]!.result()).toBe('done 2');
    await eventually(async () => (await handles[3]!.get())!.status === 'scheduled');
  });

  it('a map has outcomes by job or id, and a job that is not in it completed', async () => {
    const queue = newQueue();
    const [a, b, c] = await add(queue, 3, { maxAttempts: 1 });
    await start(queue, (jobs) => new Map<Job | string, unknown>([[jobs[0]!, 7], [jobs[1]!.id, new Error('no')]])); // prettier-ignore
    expect(await a!.result()).toBe(7);
    await expect(b!.result()).rejects.toThrow('no');
    expect(await c!.result()).toBeUndefined();
  });

  it('an error fails all, and so does a return value that is no list of outcomes', async () => {
    const wrong: unknown[] = [new Error('all'), [1], 'text', new Map([['stranger', 1]])];
    for (const outcome of wrong) {
      const queue = newQueue();
      const handles = await add(queue, 2, { maxAttempts: 1 });
      await start(queue, () => {
        if (outcome instanceof Error) throw outcome;
        return outcome as BulkOutcomes;
      });
      for (const handle of handles) {
        await expect(handle.result()).rejects.toThrow(outcome instanceof Error ? 'all' : 'A bulk handler return');
      }
    }
  });

  it('a cancel aborts the signal of its job alone; that of the call once all are aborted', async () => {
    const queue = newQueue();
    const handles = await add(queue, 2);
    const begun = gate<[Job[], BulkCall]>();
    const end = gate();
    await start(queue, async (jobs, call) => {
      begun.open([jobs, call]);
      await end.promise;
      return jobs.map(({ signal }) => (signal.aborted ? (signal.reason as Error) : 'done'));
    });
    const [jobs, call] = await begun.promise;
    const { signal } = call;
    await queue.cancel(handles[0]!.id);
    await eventually(async () => jobs[0]!.signal.aborted);
    expect([jobs[1]!.signal.aborted, signal.aborted]).toEqual([false, false]);
    end.open();
    await expect(handles[0]!.result()).rejects.toThrow('cancelled');
    expect(await handles[1]!.result()).toBe('done');
  });

  it('a timeout aborts the call, and fails its jobs', async () => {
    const queue = newQueue();
    const handles = await add(queue, 2, { maxAttempts: 1 });
    await start(
      queue,
      async (_jobs, { signal }) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      },
      { timeoutMs: 30 },
    );
    for (const handle of handles) await expect(handle.result()).rejects.toThrow('30 ms');
  });

  it('progress, checkpoint and the heartbeat are those of each job', async () => {
    const queue = newQueue({ visibilityMs: 300 });
    const { keys, redis } = queueOn(connect(), {}, queue.name);
    const handles = await add(queue, 3);
    await start(queue, async (jobs) => {
      await Promise.all(jobs.map((job, i) => job.progress(i)));
      await jobs[0]!.checkpoint('here');
      const extended = async () => Number(await redis.zscore(keys.claims, jobs[2]!.id));
      const before = await extended();
      await eventually(async () => (await extended()) > before);
    });
    await Promise.all(handles.map((job) => job.result()));
    expect((await handles[2]!.get())!.progress).toBe(2);
    expect((await handles[0]!.get())!.checkpoint).toBe('here');
  });

  it('a job whose worker is gone returns alone, and the others end', async () => {
    const queue = newQueue({ maxCrashes: 10 });
    const state = queueOn(connect(), {}, queue.name);
    const handles = await add(queue, 2);
    const begun = gate();
    const end = gate();
    const worker = await start(queue, async (jobs) => {
      begun.open();
      if (jobs.length === 2) await end.promise;
      return jobs.map(({ attempt }) => attempt);
    }, { size: 2, waitMs: 20 }); // prettier-ignore
    await begun.promise;
    await state.expireClaims(handles[0]!.id);
    await queue.reclaim();
    end.open();
    expect(await handles[1]!.result()).toBe(1);
    expect(await handles[0]!.result()).toBe(2);
    expect(worker.count('lost', handles[0]!.id)).toBe(1);
  });

  it('an isolated job is a separate call', async () => {
    const queue = newQueue({ maxCrashes: 2 });
    const state = queueOn(connect(), { maxCrashes: 2 }, queue.name);
    const handles = await add(queue, 3);
    const first = await queue.claim();
    await state.expireClaims(first!.id);
    await queue.reclaim();
    const calls: string[][] = [];
    await start(queue, (jobs) => void calls.push(jobs.map(({ id }) => id)));
    await Promise.all(handles.map((job) => job.result()));
    expect(calls).toContainEqual([first!.id]);
  });

  it('a stop releases jobs that wait for a call, and running ones, uncounted', async () => {
    const queue = newQueue();
    await add(queue, 2);
    const begun = gate();
    const { worker } = await start(
      queue,
      (jobs, { signal }) => {
        begun.open();
        return jobs.length === 1 ? undefined : untilAborted({ signal });
      },
      { size: 2, waitMs: 60_000, concurrency: 2 },
    );
    await begun.promise;
    const { id } = await queue.enqueue('gathered');
    await eventually(async () => (await queue.get(id))!.status === 'processing');
    await worker.stop({ timeoutMs: 200 });
    expect(await queue.stats()).toMatchObject({ pending: 3, processing: 0 });
    expect((await queue.get(id))!).toMatchObject({ attempts: 0, interruptions: 1 });
  });
});

onEachStore('around a call', () => {
  it('middleware acts once, with all jobs', async () => {
    const queue = newQueue();
    const handles = await add(queue, 3);
    const seen: string[] = [];
    const middleware = [
      {
        attempt: () => void seen.push('attempt'),
        bulk: async (jobs: readonly Job[], next: () => Promise<unknown>) => {
          seen.push(`bulk of ${jobs.length}`);
          return next();
        },
      },
    ];
    await start(queue, (jobs) => jobs.map(() => 1), { waitMs: 20, size: 3, worker: { middleware } });
    await Promise.all(handles.map((job) => job.result()));
    expect(seen).toEqual(['bulk of 3']);
  });

  it('a definition holds each job against its schemas', async () => {
    const queue = newQueue();
    const Double = defineJob(queue.name, { payload: z.object({ n: z.coerce.number() }), result: z.number() });
    const handler = defineBulkHandler(
      Double,
      (jobs) => jobs.map(({ payload }) => (payload.n === 2 ? ('wrong' as never) : payload.n * 2)),
      { bulk: { size: 5, waitMs: 20 }, maxAttempts: 1 },
    );
    const good = await queue.enqueue(Double, { n: '1' });
    const wrongResult = await queue.enqueue(Double, { n: 2 });
    const wrongPayload = await queue.enqueue({ n: 'x' });
    await startWorker([{ queue, handlers: { [queue.name]: handler } }]);
    expect(await good.result()).toBe(2);
    await expect(wrongResult.result()).rejects.toThrow('result');
    await expect(wrongPayload.result()).rejects.toThrow('payload.n');
  });

  it('other handlers of the queue run beside it, one job a slot', async () => {
    const queue = newQueue();
    const bulk = { bulk: { size: 5, waitMs: 10 }, handle: (jobs: Job[]) => jobs.map(() => 'bulk') } as BulkHandler;
    await startWorker([{ queue, handlers: { many: bulk, one: () => 'one' } }]);
    const handles = await queue.enqueueMany(
      Array.from({ length: 20 }, (_, i) => ({ payload: i, name: i % 2 ? 'many' : 'one' })),
    );
    expect(await Promise.all(handles.map((job) => job.result()))).toEqual(
      handles.map((_, i) => (i % 2 ? 'bulk' : 'one')),
    );
  });

  it.each([
    { size: 1 },
    { size: 0 },
    { size: 2, by: 'tenant' },
    { size: 2, waitMs: -1 },
    {},
    5,
    { size: 2, other: 1 },
  ])('refuses bulk: %j', async (bulk) => {
    const queue = newQueue();
    const handlers = { [queue.name]: { bulk, handle: () => undefined } as never };
    await expect(startWorker([{ queue, handlers }])).rejects.toThrow(InvalidOptionError);
  });
});
