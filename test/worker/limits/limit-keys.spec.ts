// Limits with a key, as the workers of a fleet keep them.
import { expect, it, jest } from '@jest/globals';
import { type InvalidOptionError, RateLimitedError } from '#queue/errors/errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import type { SharedLimit } from '#queue/operate/shared-limit.js';
import type { BulkHandler } from '#worker/handlers/handler.js';
import type { Job } from '#worker/handlers/job.js';
import type { QueueStore } from '#queue/store/queue-store.js';
import { eventually, gate, sleep } from '../../support/faults/wait.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { newQueue, onEachStore, startWorker, type TestWorker } from '../../support/worker/workers.js';

const many = (count: number, group: string) => Array.from({ length: count }, (_, payload) => ({ payload, group }));

/** Makes two queues that share a new limit, which each group has for itself. */
function sharing(): { limit: string; queues: [JobQueue, JobQueue]; keyOf: (group: string) => SharedLimit } {
  const limit = uniqueQueueName();
  const one = newQueue({ limits: [{ limit, key: 'group' }] });
  const two = newQueue({ limits: [{ limit, key: 'group' }] }, one.store);
  return { limit, queues: [one, two], keyOf: (group) => one.sharedLimit(limit).key(group) };
}

/** Counts the jobs of each group that run at once, and the times of their starts. */
function counter(handled: () => Promise<unknown> = () => new Promise(setImmediate)) {
  const most: Record<string, number> = {};
  const running: Record<string, number> = {};
  const starts: Record<string, number[]> = {};
  const handle = async ({ group = '' }: { group: string | undefined }) => {
    running[group] = (running[group] ?? 0) + 1;
    most[group] = Math.max(most[group] ?? 0, running[group]);
    (starts[group] ??= []).push(performance.now());
    await handled();
    running[group]--;
  };
  return { most, starts, handle };
}

/** Delays what the next worker reads of a limit beside its claims, as another master may. */
function answerNotesLate(store: QueueStore): void {
  const transportOf = store.transport.bind(store);
  jest.spyOn(store, 'transport').mockImplementationOnce((logger) => {
    const transport = transportOf(logger);
    const carry = transport.carry.bind(transport);
    transport.carry = async (calls, ...others) => {
      const outcomes = await carry(calls, ...others);
      await sleep(calls.some(({ script }) => script === 'sharedLimitNoteKeys') ? 50 : 0);
      return outcomes;
    };
    return transport;
  });
}

async function allCompleted(workers: TestWorker[], count: number): Promise<void> {
  const completed = () => workers.reduce((sum, worker) => sum + worker.count('completed'), 0);
  while (completed() < count) {
    await Promise.race(workers.map((worker) => worker.event('completed', worker.count('completed') + 1)));
  }
}

onEachStore('maxRunning of a limit with a key', () => {
  it('holds for each group over two queues and two workers, and every job runs', async () => {
    const { limit, queues, keyOf } = sharing();
    const { most, handle } = counter();
    const limits = { [limit]: { maxRunning: 2 } };
    const workers = await Promise.all(queues.map((queue) => startWorker(queue, handle, { limits })));
    for (const group of ['acme', 'bolt', 'cog']) {
      await Promise.all(queues.map((queue) => queue.enqueueMany(many(15, group))));
    }
    await allCompleted(workers, 90);
    expect(most).toEqual({ acme: expect.any(Number), bolt: expect.any(Number), cog: expect.any(Number) });
    expect(Math.max(...Object.values(most))).toBeLessThanOrEqual(2);
    await eventually(async () => (await keyOf('acme').get()).running === 0);
  });

  it('lets other groups run while one is full, and takes no attempt of its jobs', async () => {
    const { limit, queues, keyOf } = sharing();
    const end = gate();
    const held = await startWorker(queues[0], () => end.promise, { limits: { [limit]: { maxRunning: 1 } } });
    await queues[0].enqueue(0, { group: 'acme' });
    await held.event('started');
    const worker = await startWorker(queues[1], () => undefined, { limits: { [limit]: { maxRunning: 1 } } });
    const waiting = await queues[1].enqueue(1, { group: 'acme' });
    await eventually(async () => (await keyOf('acme').get()).waiting.includes(queues[1].name));
    await queues[1].enqueueMany(many(20, 'bolt'));
    await worker.event('completed', 20);
    expect(await queues[1].get(waiting.id)).toMatchObject({ status: 'pending', attempts: 0 });
    expect(await keyOf('acme').get()).toMatchObject({
      source: 'configuration',
      maxRunning: 1,
      running: 1,
      holders: [{ queue: queues[0].name, worker: held.worker.id, permits: 1 }],
    });
    const endedAt = performance.now();
    end.open();
    await worker.event('completed', 21);
    expect(performance.now() - endedAt).toBeLessThan(2_000); // the rest of the group would last for five seconds
    expect(await queues[1].get(waiting.id)).toMatchObject({ attempts: 1 });
    expect(worker.count('released')).toBe(0);
  });
});

onEachStore('a claim of a queue whose limit has a key', () => {
  it('takes few jobs of a group in vain, also with many slots', async () => {
    const { limit, queues } = sharing();
    const fences: number[] = [];
    const limits = { [limit]: { maxRunning: 1 } };
    await queues[0].enqueueMany(many(60, 'acme'));
    const handle = ({ fence }: { fence: number }) => void fences.push(fence);
    const worker = await startWorker(queues[0], handle, { limits, perQueue: 50 });
    await worker.event('completed', 60);
    expect(Math.max(...fences)).toBeLessThan(60 * 5); // each claim of a job takes the next number
  });

  it('begins the call of a bulk handler once its jobs have their permits', async () => {
    const { limit, queues } = sharing();
    const calls: number[] = [];
    const handle = (jobs: readonly Job[]) => void calls.push(jobs.length);
    const handler: BulkHandler = { bulk: { size: 3, waitMs: 20 }, handle };
    const worker = await startWorker([{ queue: queues[0], handlers: { [queues[0].name]: handler } }], undefined, {
      limits: { [limit]: { maxRunning: 3 } },
    });
    await queues[0].enqueueMany(many(3, 'acme'));
    await worker.event('completed', 3);
    const addedAt = performance.now();
    await queues[0].enqueueMany(many(2, 'acme'));
    await worker.event('completed', 5);
    expect(performance.now() - addedAt).toBeLessThan(700); // it would claim again after a second
    expect(calls).toEqual([3, 2]);
  });
});

onEachStore('the rates of a limit with a key', () => {
  it('bound the starts of each group over two queues, and use the rate', async () => {
    const { limit, queues } = sharing();
    const { starts, handle } = counter();
    const limits = { [limit]: { rateLimit: { limit: 20, periodMs: 1_000 } } };
    const workers = await Promise.all(queues.map((queue) => startWorker(queue, handle, { limits })));
    await Promise.all(
      queues.flatMap((queue) => ['acme', 'bolt'].map((group) => queue.enqueueMany(many(20, group)))),
    );
    await allCompleted(workers, 62);
    for (const group of ['acme', 'bolt']) {
      const [first, ...others] = starts[group]!.toSorted((a, b) => a - b);
      const rate = others.length / ((others.at(-1)! - first!) / 1_000);
      expect(rate).toBeLessThan(20 * 1.05); // the last start may be late, and the first reply too
      expect(rate).toBeGreaterThan(20 * 0.9);
    }
  });

  it('count the cost of each job', async () => {
    const limit = uniqueQueueName();
    const queue = newQueue({ limits: [{ limit, key: 'group', cost: { default: 1, most: 9 } }] });
    const limits = { [limit]: { rateLimit: { limit: 60, periodMs: 3_600_000, burst: 9 } } };
    const worker = await startWorker(queue, () => undefined, { limits });
    const costs = [4, 1, 3, 1, 9];
    await queue.enqueueMany(costs.map((cost) => ({ payload: cost, group: 'acme', limitCosts: { [limit]: cost } })));
    await worker.event('completed', 4);
    await eventually(async () => (await queue.sharedLimit(limit).key('acme').get()).waiting.length === 1);
    const { nextStartAt } = await queue.sharedLimit(limit).key('acme').get();
    expect(nextStartAt!.getTime() - Date.now()).toBeGreaterThan(50_000);
    expect(nextStartAt!.getTime() - Date.now()).toBeLessThanOrEqual(60_000); // all nine units are used, and no more
    await queue.enqueue(1, { group: 'bolt', limitCosts: { [limit]: 9 } });
    await worker.event('completed', 5);
    expect(await queue.stats()).toMatchObject({ pending: 1, processing: 0 });
  });
});

onEachStore('a job that costs more than others of its group', () => {
  it.each([
    ['alone', [5]],
    ['behind a cheap one, and before others', [1, 5, 1, 1]],
  ])('is not passed over by another queue for long: %s', async (_what, costs) => {
    const limit = uniqueQueueName();
    const limited = { limits: [{ limit, key: 'group' as const, cost: { default: 1, most: 5 } }] };
    const cheap = newQueue(limited);
    const dear = newQueue(limited, cheap.store);
    const limits = { [limit]: { rateLimit: { limit: 50, periodMs: 1_000, burst: 5 } } };
    await cheap.enqueueMany(many(300, 'acme'));
    await dear.enqueueMany(costs.map((cost) => ({ payload: cost, group: 'acme', limitCosts: { [limit]: cost } })));
    const other = await startWorker(cheap, () => undefined, { limits });
    await other.event('completed', 10);
    const found = gate();
    await startWorker(dear, ({ payload }) => void (payload === 5 && found.open()), { limits });
    await found.promise;
    expect(other.count('completed')).toBeLessThan(60);
  });
});

onEachStore('a full key', () => {
  it('starves nobody, however many there are', async () => {
    const { limit, queues, keyOf } = sharing();
    const limits = { [limit]: { maxRunning: 1 } };
    const names = Array.from({ length: 1_000 }, (_, i) => `full-${i}`);
    await queues[0].sharedLimit(limit).set({ maxRunning: 1 });
    await Promise.all(names.map((name) => keyOf(name).pause()));
    await queues[0].enqueueMany(names.map((group) => ({ payload: 0, group })));
    const worker = await startWorker(queues[0], () => undefined, { limits });
    await queues[0].enqueueMany(many(20, 'acme'));
    await worker.event('completed', 20);
    expect(worker.count('completed')).toBe(20);
    await eventually(async () => (await queues[0].stats()).processing === 0);
    expect(await queues[0].stats()).toMatchObject({ pending: 1_000 });
  });
});

onEachStore('what people do to a key', () => {
  it('applies to it alone, and at once to a group that rests', async () => {
    const { limit, queues, keyOf } = sharing();
    const { most, handle } = counter(() => new Promise((resolve) => setTimeout(() => resolve(undefined), 50)));
    const worker = await startWorker(queues[0], handle, { limits: { [limit]: { maxRunning: 1 } } });
    await keyOf('acme').pause({ by: 'ada', reason: 'has not paid' });
    await queues[0].enqueueMany([...many(3, 'acme'), ...many(3, 'bolt')]);
    await worker.event('completed', 3);
    expect(most).toEqual({ bolt: 1 });
    await eventually(async () => (await keyOf('acme').get()).waiting.length === 1);
    expect(await keyOf('acme').get()).toMatchObject({ pausedBy: 'ada', maxRunning: 1, source: 'configuration' });
    await keyOf('acme').set({ maxRunning: 3 });
    expect(await keyOf('acme').get()).toMatchObject({ maxRunning: 3, source: 'set' });
    expect(await keyOf('acme').resume()).toBe(true);
    await worker.event('completed', 6);
    expect(most).toEqual({ acme: 3, bolt: 1 });
    await keyOf('acme').clear();
    expect(await keyOf('acme').get()).toMatchObject({ maxRunning: 1, source: 'configuration' });
  });

  it('is obeyed by a worker that was idle, also if the limit answers later than the queue', async () => {
    const { limit, queues } = sharing();
    answerNotesLate(queues[0].store);
    const worker = await startWorker(queues[0], () => undefined, { limits: { [limit]: { maxRunning: 5 } } });
    await queues[0].enqueue(1, { group: 'acme' });
    await worker.event('completed');
    await queues[0].sharedLimit(limit).pause();
    const { id } = await queues[0].enqueue(2, { group: 'acme' });
    await eventually(async () => Number((await queues[0].get(id))?.fence) > 0 && (await queues[0].stats()).pending);
    expect(worker.count('started')).toBe(1);
  });

  it('shows the pause of the key, and else that of the limit', async () => {
    const { limit, queues, keyOf } = sharing();
    await queues[0].sharedLimit(limit).pause({ by: 'ada', reason: 'an outage', forMs: 60_000 });
    expect(await keyOf('acme').get()).toMatchObject({ pausedBy: 'ada', pausedUntil: expect.any(Date) });
    await keyOf('acme').pause();
    const { pausedAt, pausedUntil, pausedBy, pauseReason } = await keyOf('acme').get();
    expect([pausedAt, pausedUntil, pausedBy, pauseReason]).toEqual([
      expect.any(Date),
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('keeps what the limit says where a change says nothing', async () => {
    const { limit, queues, keyOf } = sharing();
    await queues[0].sharedLimit(limit).set({ maxRunning: 4, rateLimit: { limit: 5, periodMs: 1_000 } });
    await keyOf('acme').change({ maxRunning: 2 });
    expect(await keyOf('acme').get()).toMatchObject({ maxRunning: 2, rateLimit: [{ limit: 5, periodMs: 1_000 }] });
    expect(await keyOf('bolt').get()).toMatchObject({ maxRunning: 4, source: 'set' });
  });

  it('is listed by the limit, whose values and pause apply to every key', async () => {
    const { limit, queues, keyOf } = sharing();
    const state = queues[0].sharedLimit(limit);
    const worker = await startWorker(queues[0], () => undefined, { limits: { [limit]: { maxRunning: 1 } } });
    await queues[0].enqueueMany([...many(1, 'acme'), ...many(1, 'bolt')]);
    await worker.event('completed', 2);
    await state.pause();
    await queues[0].enqueue(1, { group: 'acme' });
    await eventually(async () => (await state.get()).keys?.length === 2);
    expect([...(await state.get()).keys!].toSorted()).toEqual(['acme', 'bolt']);
    expect((await keyOf('acme').get()).pausedAt).toBeDefined();
    expect(worker.count('completed')).toBe(2);
    await state.set({ maxRunning: 7 });
    await state.resume();
    await worker.event('completed', 3);
    expect(await keyOf('acme').get()).toMatchObject({ maxRunning: 7, source: 'set' });
  });
});

onEachStore('a RateLimitedError with a limit that has a key', () => {
  it('rests the key of its job, in all queues', async () => {
    const { limit, queues, keyOf } = sharing();
    const limits = { [limit]: {} };
    const meet = () => {
      throw new RateLimitedError({ limit, retryAfterMs: 3_600_000 });
    };
    const [one, two] = await Promise.all([
      startWorker(queues[0], meet, { limits }),
      startWorker(queues[1], () => undefined, { limits }),
    ]);
    await queues[0].enqueue(1, { group: 'acme' });
    await one.event('released');
    await eventually(async () => (await keyOf('acme').get()).restsUntil !== undefined);
    const { id } = await queues[1].enqueue(1, { group: 'acme' });
    await queues[1].enqueue(1, { group: 'bolt' });
    await two.event('completed');
    expect(await queues[1].get(id)).toMatchObject({ status: 'pending' });
    await keyOf('acme').clear();
    await two.event('completed', 2);
  });

  it('keeps the rest of a group that a handler asked for, when a permit comes', async () => {
    const { limit, queues } = sharing();
    const end = gate();
    const started: number[] = [];
    const limits = { [limit]: { maxRunning: 1 } };
    const worker = await startWorker(
      queues[0],
      async ({ payload }) => {
        started.push(performance.now());
        if (started.length > 1) return;
        await end.promise;
        throw new RateLimitedError({ retryAfterMs: 700 + Number(payload) });
      },
      { limits },
    );
    await queues[0].enqueueMany(many(2, 'acme'));
    await worker.event('started');
    await eventually(async () => (await queues[0].groups.list())[0]?.opensAt !== null); // it waits for a permit
    const endedAt = performance.now();
    end.open();
    await worker.event('completed', 2);
    expect(started[1]! - endedAt).toBeGreaterThan(650);
  });

  it('fails the attempt of a job without a group, which nothing limits', async () => {
    const { limit, queues } = sharing();
    const meet = () => {
      throw new RateLimitedError({ limit, retryAfterMs: 300 });
    };
    const worker = await startWorker(queues[0], meet, { limits: { [limit]: { maxRunning: 1 } } });
    const job = await queues[0].enqueue(1, { maxAttempts: 1 });
    const { error } = (await worker.event('failed')) as { error: InvalidOptionError };
    expect(error).toMatchObject({ code: 'INVALID_OPTION', subject: 'RateLimitedError.limit' });
    expect(worker.warnings).toEqual([
      `Job ${job.id} of queue "${queues[0].name}" has no group, so no key of the limit "${limit}" bounds it. ` +
        'Enqueue it with a group: enqueue(name, payload, { group }).',
    ]);
  });
});

it('a queue takes no other key', () => {
  expect(() => newQueue({ limits: [{ limit: 'tenant', key: 'tenantId' as 'group' }] })).toThrow(
    "expected 'group', which gives each group the limit for itself",
  );
});
