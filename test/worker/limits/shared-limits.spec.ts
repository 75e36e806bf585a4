// Limits that several queues share, as the workers of a fleet keep them.
import { expect, it } from '@jest/globals';
import { type InvalidOptionError, RateLimitedError } from '#queue/errors/errors.js';
import { z } from 'zod';
import { defineJob } from '#queue/enqueue/define-job.js';
import type { JobQueue } from '#queue/job-queue.js';
import { SharedLimit } from '#queue/operate/shared-limit.js';
import { eventually, gate } from '../../support/faults/wait.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { newQueue, onEachStore, startWorker, type TestWorker } from '../../support/worker/workers.js';

const many = (count: number) => Array.from({ length: count }, (_, payload) => ({ payload }));

const meetOther = () => {
  throw new RateLimitedError({ limit: 'other', retryAfterMs: 300 });
};

/** Makes two queues that share a new limit. */
function sharing(...names: string[]): { limit: string; queues: [JobQueue, JobQueue]; state: SharedLimit } {
  const limit = uniqueQueueName();
  const one = newQueue({ limits: [limit, ...names] });
  const two = newQueue({ limits: [limit, ...names] }, one.store);
  return { limit, queues: [one, two], state: new SharedLimit(one, limit) };
}

/** Counts the jobs that run at once. */
function counter() {
  const seen = { running: 0, most: 0, starts: [] as number[] };
  const handle = async () => {
    seen.starts.push(performance.now());
    seen.most = Math.max(seen.most, ++seen.running);
    await new Promise(setImmediate);
    seen.running--;
  };
  return { seen, handle };
}

async function allCompleted(workers: TestWorker[], count: number): Promise<void> {
  const completed = () => workers.reduce((sum, worker) => sum + worker.count('completed'), 0);
  while (completed() < count) {
    await Promise.race(workers.map((worker) => worker.event('completed', worker.count('completed') + 1)));
  }
}

onEachStore('maxRunning of a shared limit', () => {
  it('holds over two queues and two workers, and every job runs', async () => {
    const { limit, queues, state } = sharing();
    const { seen, handle } = counter();
    const limits = { [limit]: { maxRunning: 3 } };
    const workers = await Promise.all(queues.map((queue) => startWorker(queue, handle, { limits })));
    await Promise.all(queues.map((queue) => queue.enqueueMany(many(40))));
    await allCompleted(workers, 80);
    expect(seen.most).toBeLessThanOrEqual(3);
    await eventually(async () => (await state.get()).running === 0);
  });

  it('is one for the queues of a worker, and names its holders and who waits', async () => {
    const { limit, queues, state } = sharing();
    const end = gate();
    const [one, two] = queues.map((queue) => ({ queue, handlers: { [queue.name]: () => end.promise } }));
    const worker = await startWorker([one!, two!], undefined, { limits: { [limit]: { maxRunning: 2 } } });
    await queues[0].enqueueMany(many(5));
    await worker.event('started', 2);
    await queues[1].enqueue(1);
    await eventually(async () => (await state.get()).waiting.includes(queues[1].name));
    expect(await state.get()).toMatchObject({
      source: 'configuration',
      maxRunning: 2,
      running: 2,
      holders: [{ queue: queues[0].name, worker: worker.worker.id, permits: 2 }],
    });
    end.open();
    await worker.event('completed', 6);
  });

  it('lets queues that wait take turns', async () => {
    const { limit, queues } = sharing();
    const order: string[] = [];
    const served = queues.map((queue) => ({
      queue,
      handlers: {
        [queue.name]: async () => {
          order.push(queue.name);
          await new Promise(setImmediate);
        },
      },
    }));
    await Promise.all(queues.map((queue) => queue.enqueueMany(many(60))));
    const worker = await startWorker(served, undefined, { limits: { [limit]: { maxRunning: 1 } } });
    await worker.event('completed', 80);
    const share = order.slice(0, 80).filter((name) => name === queues[0].name).length;
    expect(Math.abs(share - 40)).toBeLessThanOrEqual(4);
  });
});

onEachStore('a queue with two limits', () => {
  it('needs a permit of both, and holds none of one alone', async () => {
    const other = uniqueQueueName();
    const { limit, queues, state } = sharing(other);
    const { seen, handle } = counter();
    const limits = { [limit]: { maxRunning: 5 }, [other]: { maxRunning: 1 } };
    await new SharedLimit(queues[0], other).pause();
    const worker = await startWorker(queues[0], handle, { limits });
    await queues[0].enqueueMany(many(10));
    await eventually(async () => (await new SharedLimit(queues[0], other).get()).waiting.length > 0);
    await eventually(async () => (await state.get()).running === 0);
    expect(seen.starts).toEqual([]);
    await new SharedLimit(queues[0], other).resume();
    await worker.event('completed', 10);
    expect(seen.most).toBe(1);
  });
});

onEachStore('the rates of a shared limit', () => {
  it('bound the starts of all its queues together', async () => {
    const { limit, queues } = sharing();
    const { seen, handle } = counter();
    const limits = {
      [limit]: {
        rateLimit: [
          { limit: 100, periodMs: 1_000 },
          { limit: 1_000_000, periodMs: 1_000 },
        ],
      },
    };
    const workers = await Promise.all(queues.map((queue) => startWorker(queue, handle, { limits })));
    await Promise.all(queues.map((queue) => queue.enqueueMany(many(20))));
    await allCompleted(workers, 30);
    const starts = seen.starts.toSorted((a, b) => a - b);
    // 29 intervals of 10 ms at least, less what the last reply was in flight.
    expect(starts[29]! - starts[0]!).toBeGreaterThan(29 * 10 - 40);
  });
});

onEachStore('a RateLimitedError with a limit', () => {
  it('rests all queues that share it, and its job goes back', async () => {
    const { limit, queues, state } = sharing();
    let isBusy = true;
    const meet = () => {
      if (isBusy) throw new RateLimitedError({ limit, retryAfterMs: 3_600_000 });
    };
    const served = queues.map((queue) => ({ queue, handlers: { [queue.name]: meet } }));
    const worker = await startWorker(served, undefined, { limits: { [limit]: {} } });
    const job = await queues[0].enqueue(1);
    await worker.event('released');
    await eventually(async () => (await state.get()).running === 0); // no claim in flight has a permit of before
    await queues[1].enqueue(2);
    expect((await state.get()).restsUntil!.getTime()).toBeGreaterThan(0);
    expect((await queues[0].limits.get()).restsUntil).toBeUndefined();
    expect(await queues[1].stats()).toMatchObject({ pending: 1, processing: 0 });
    isBusy = false;
    await state.clear();
    await worker.event('completed', 2);
    expect(await queues[0].get(job.id)).toMatchObject({ attempts: 1, rateLimited: expect.any(Number) });
  });

  it('fails the attempt where the queue does not have the limit', async () => {
    const { limit, queues } = sharing();
    const worker = await startWorker(queues[0], meetOther, { limits: { [limit]: {} } });
    await queues[0].enqueue(1, { maxAttempts: 1 });
    const { error } = (await worker.event('failed')) as { error: Error };
    expect(error.message).toContain(`a limit of the queue: ${limit}`);
  });

  it.each([
    ['a name that is nearly one', 'openai:deed', 'Did you mean openai:dead?'],
    ['no name at all', {} as string, "such as limits: ['openai']"],
  ])('fails the attempt by %s, and says which there is', async (_, limit, hint) => {
    const queue = newQueue({ limits: ['openai:dead', uniqueQueueName()] });
    const fail = () => {
      throw new RateLimitedError({ limit, retryAfterMs: 300 });
    };
    const names = Object.fromEntries(queue.options.limits!.map((name) => [name as string, {}]));
    const worker = await startWorker(queue, fail, { limits: names });
    await queue.enqueue(1, { maxAttempts: 1 });
    const { error } = (await worker.event('failed')) as { error: InvalidOptionError };
    expect(error).toMatchObject({ code: 'INVALID_OPTION', hint: expect.stringContaining(hint) });
  });
});

onEachStore('a queue whose jobs cost more of a shared limit', () => {
  it('starts as many as its cost lets it, and gives back what nothing used', async () => {
    const limit = uniqueQueueName();
    const queue = newQueue({ limits: [{ limit, cost: 3 }] });
    const { seen, handle } = counter();
    const limits = { [limit]: { rateLimit: { limit: 60, periodMs: 3_600_000, burst: 9 } } };
    const worker = await startWorker(queue, handle, { limits });
    await queue.enqueueMany(many(10));
    await allCompleted([worker], 3);
    const state = queue.sharedLimit(limit);
    await eventually(async () => (await state.get()).waiting.length === 1 && (await state.get()).running === 0);
    expect(seen.starts).toHaveLength(3);
    const { nextStartAt } = await state.get();
    expect(nextStartAt!.getTime() - Date.now()).toBeLessThanOrEqual(60_000); // for one; a job of the queue needs three
  });
});

/** Makes a queue whose jobs cost 1 to 9 of a limit. Its burst is 9, and then one more starts a minute. */
function costly() {
  const limit = uniqueQueueName();
  const queue = newQueue({ limits: [{ limit, cost: { default: 1, most: 9 } }] });
  const limits = { [limit]: { rateLimit: { limit: 60, periodMs: 3_600_000, burst: 9 } } };
  return { limit, limits, queue, state: queue.sharedLimit(limit) };
}

const costing = (limit: string, ...costs: number[]) =>
  costs.map((cost) => ({ payload: cost, ...(cost > 1 && { limitCosts: { [limit]: cost } }) }));

onEachStore('jobs with costs of their own', () => {
  it('start as their costs let them, in their order, and no unit is lost', async () => {
    const { limit, limits, queue, state } = costly();
    const started: unknown[] = [];
    const worker = await startWorker(queue, ({ payload }) => void started.push(payload), { limits });
    await queue.enqueueMany(costing(limit, 4, 1, 3, 1, 9, 1));
    await allCompleted([worker], 4);
    await eventually(async () => (await state.get()).waiting.length === 1 && (await state.get()).running === 0);
    expect(started).toEqual([4, 1, 3, 1]);
    const { nextStartAt } = await state.get();
    expect(nextStartAt!.getTime() - Date.now()).toBeGreaterThan(50_000);
    expect(nextStartAt!.getTime() - Date.now()).toBeLessThanOrEqual(60_000); // all nine units are used, and no more
    expect(await queue.stats()).toMatchObject({ pending: 2, processing: 0 });
  });

  it('give back what they did not need, while they run', async () => {
    const { limit, limits, queue, state } = costly();
    const end = gate();
    const worker = await startWorker(
      [{ queue, concurrency: 2, handlers: { [queue.name]: () => end.promise } }],
      undefined,
      { limits },
    );
    await queue.enqueueMany(costing(limit, 8));
    await worker.event('started');
    await eventually(async () => (await state.get()).running === 1);
    await queue.enqueue(1);
    await worker.event('started', 2); // by the ninth unit: the price of a permit was eight before
    expect((await state.get()).running).toBe(2);
    end.open();
    await worker.event('completed', 2);
    await eventually(async () => (await state.get()).running === 0);
  });

  it('cost what their definition says, and keep it over a retry', async () => {
    const { limit, limits, queue, state } = costly();
    const Report = defineJob('report', { payload: z.number(), limitCosts: { [limit]: 4 }, backoff: 1 });
    let failures = 0;
    const fail = () => {
      if (failures++ === 0) throw new Error('once');
    };
    const worker = await startWorker([{ queue, handlers: { report: fail } }], undefined, { limits });
    await queue.enqueue(Report, 1);
    await worker.event('completed');
    await eventually(async () => (await state.get()).running === 0);
    const { id } = await queue.enqueue(2, { name: 'report', limitCosts: { [limit]: 2 } });
    await eventually(async () => (await state.get()).waiting.length === 1); // one unit is left
    expect(await queue.get(id)).toMatchObject({ status: 'pending', limitCosts: { [limit]: 2 } });
  });

  it('are refused beyond what the code of the queue says', async () => {
    const { limit, queue } = costly();
    await expect(queue.enqueue(1, { limitCosts: { [limit]: 10 } })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      subject: `limitCosts.${limit}`,
      expected: `at most 9, as queue "${queue.name}" says`,
    });
    await expect(queue.enqueueMany(costing(limit, 1, 10))).rejects.toMatchObject({
      subject: `enqueueMany[1].limitCosts.${limit}`,
    });
    await expect(queue.enqueue(1, { limitCosts: { other: 2 } })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      expected: `limits whose cost is a range in queue "${queue.name}": ${limit}`,
    });
    expect(await queue.stats()).toMatchObject({ pending: 0 });
  });

  it('count as the burst if a producer with other code says more, and the worker says so', async () => {
    const { limit, limits, queue, state } = costly();
    const worker = await startWorker(queue, () => undefined, { limits });
    const elsewhere = newQueue({}, queue.store, queue.name);
    await elsewhere.enqueue(1, { limitCosts: { [limit]: 20 } });
    await worker.event('completed');
    expect(worker.warnings).toEqual([
      expect.stringContaining(`A job of queue "${queue.name}" costs 20 of the limit`),
    ]);
    await eventually(async () => (await state.get()).running === 0);
    expect((await state.get()).nextStartAt!.getTime() - Date.now()).toBeGreaterThan(50_000);
  });
});

it('a worker does not start if a job may cost more than a burst', async () => {
  const { limit, queue } = costly();
  const limits = { [limit]: { rateLimit: { limit: 60, periodMs: 1_000, burst: 8 } } };
  await expect(startWorker(queue, undefined, { limits })).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    expected: `a cost of at most the burst of ${limit}, which is 8`,
  });
});

it('a worker warns once where a burst that is set at run time is below the cost of its jobs', async () => {
  const limit = uniqueQueueName();
  const queue = newQueue({ limits: [{ limit, cost: 3 }] });
  const rateLimit = { limit: 1_000_000, periodMs: 1_000, burst: 3 };
  const worker = await startWorker(queue, () => undefined, { limits: { [limit]: { rateLimit } } });
  await queue.enqueue(1);
  await worker.event('completed');
  expect(worker.warnings).toEqual([]);
  await queue.sharedLimit(limit).set({ rateLimit: { ...rateLimit, burst: 2 } });
  await queue.enqueueMany(many(10));
  await worker.event('completed', 11);
  expect(worker.warnings).toEqual([
    `Each job of queue "${queue.name}" costs 3 of the limit "${limit}", whose burst is 2 now. It counts as 2, so more ` +
      'start than its rate allows. Raise the burst to 3, or lower the cost.',
  ]);
  expect((await queue.workers())[0]).toMatchObject({ limits: [limit], limitCosts: { [limit]: 3 } });
});

it('a worker does not start for a limit that its options do not have', async () => {
  const queue = newQueue({ limits: ['openia'] });
  const start = startWorker(queue, undefined, { limits: { openai: { maxRunning: 1 } } });
  await expect(start).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    subject: `queue "${queue.name}".limits`,
    expected: 'limits of this app: openai',
    hint: expect.stringContaining('Did you mean openai?'),
  });
});
