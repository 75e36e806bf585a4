// The limits of a queue as a fleet of workers keeps them.
import { expect, it } from '@jest/globals';
import { RateLimitRetriesExhaustedError, NonRetryableError, RateLimitedError } from '#queue/errors/errors.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import type { Job } from '#worker/handlers/job.js';
import { eventually, gate } from '../../support/faults/wait.js';
import { newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';

const many = (count: number) => Array.from({ length: count }, (_, payload) => ({ payload }));

const failForGood = () => {
  throw new NonRetryableError('no');
};
const meetLimit = () => {
  throw new RateLimitedError({ retryAfterMs: 1 });
};

onEachStore('maxRunning', () => {
  it('holds over two workers with room for more, and every job runs', async () => {
    const queue = newQueue({ maxRunning: 3 });
    let running = 0;
    let most = 0;
    const handle = async () => {
      most = Math.max(most, ++running);
      await new Promise(setImmediate);
      running--;
    };
    const workers = [await startWorker(queue, handle), await startWorker(queue, handle)];
    await queue.enqueueMany(many(60));
    const completed = () => workers.reduce((sum, worker) => sum + worker.count('completed'), 0);
    while (completed() < 60) {
      await Promise.race(workers.map((worker) => worker.event('completed', worker.count('completed') + 1)));
    }
    expect(most).toBeLessThanOrEqual(3);
  });

  it('can be set for the fleet while jobs run', async () => {
    const queue = newQueue();
    const end = gate();
    const worker = await startWorker(queue, () => end.promise);
    await queue.limits.set({ maxRunning: 1 });
    await queue.enqueueMany(many(3));
    await worker.event('started');
    expect(await queue.stats()).toMatchObject({ processing: 1, pending: 2 });
    await queue.limits.clear();
    await worker.event('started', 3);
    end.open();
    await worker.event('completed', 3);
  });
});

onEachStore('limits of a worker that has stopped', () => {
  it.each([
    ['none', {}, 5],
    ['others', { maxRunning: 3 }, 3],
  ])('give way at once to those of a worker with %s', async (_, options, most) => {
    const queue = newQueue({ maxRunning: 1 });
    const next = newQueue(options, queue.store, queue.name);
    const held = gate();
    const first = await startWorker(queue, () => held.promise);
    const second = await startWorker(next, () => held.promise);
    expect(await queue.limits.get()).toMatchObject({ maxRunning: 1 });
    await first.worker.stop();
    await queue.enqueueMany(many(5));
    await second.event('started', most, { timeoutMs: 10_000 }); // well before it would announce itself again
    expect(await queue.stats()).toMatchObject({ processing: most, pending: 5 - most });
    held.open();
    await second.event('completed', 5);
  });

  it('bound producers until then', async () => {
    const queue = newQueue({ maxRunning: 1, groups: { maxPending: 1 } });
    const { worker } = await startWorker(queue, () => 1);
    await queue.limits.get();
    await worker.stop();
    const producer = newQueue({}, queue.store, queue.name);
    await producer.enqueue(1, { group: 'g' });
    await expect(producer.enqueue(1, { group: 'g' })).rejects.toMatchObject({ name: 'QueueFullError' });
  });
});

onEachStore('rateLimit', () => {
  it('spreads the starts of jobs over the period, across workers', async () => {
    const queue = newQueue({ rateLimit: { limit: 20, periodMs: 1_000 } });
    const starts: number[] = [];
    const handle = () => void starts.push(performance.now());
    const [one, two] = [await startWorker(queue, handle), await startWorker(queue, handle)];
    await queue.enqueueMany(many(10));
    while (one.count('completed') + two.count('completed') < 10) {
      await Promise.race([one, two].map((each) => each.event('completed', each.count('completed') + 1)));
    }
    // Nine intervals of 50 ms at least, less what the last answer was in flight.
    expect(starts.at(-1)! - starts[0]!).toBeGreaterThan(9 * 50 - 40);
  });
});

onEachStore('a job whose `after` did not end well', () => {
  const rate = { rateLimit: { limit: 1, periodMs: 3_600_000 } };
  it.each([
    ['without a group', rate, {}],
    ['of a group', { groups: rate }, { group: 'g' }],
    ['while the queue has no free slot', { maxRunning: 1 }, {}],
  ])('ends without a slot, and is not charged: %s', async (_, limits, options) => {
    const queue = newQueue(limits);
    await queue.limits.set(limits);
    const [first, second] = await queue.enqueueMany([
      { payload: 1, ...options },
      { payload: 2, ...options },
    ]);
    const after = await queue.enqueue(3, { ...options, after: [first!.id] });
    const last = await queue.enqueue(4, { ...options, after: [after.id] });
    const worker = await startWorker(queue, failForGood, { perQueue: 1, sweepIntervalMs: 50 });
    expect(await worker.event('failed', 1, { id: last.id })).toMatchObject({ error: { name: 'JobUnmet' } });
    await worker.worker.stop();
    expect((await queue.get(last.id))!.lastError).toContain(after.id);
    if ('maxRunning' in limits) return;
    expect(await queue.get(second!.id)).toMatchObject({ status: 'pending', attempts: 0 });
    await queue.limits.clear();
    await queue.limits.set(limits);
    expect(await queue.claim()).toBeNull(); // the first is still charged, and got nothing back from the others
  });

  it('ends in a paused queue too', async () => {
    const queue = newQueue(rate);
    const first = await queue.enqueue(1);
    const after = await queue.enqueue(2, { after: [first.id] });
    await queue.pause();
    await queue.cancel(first.id);
    await maintainBatches(queue);
    expect(await queue.get(after.id)).toMatchObject({ status: 'failed' });
  });
});

onEachStore('a RateLimitedError', () => {
  it('rests the queue, and the job runs again without having used an attempt', async () => {
    const queue = newQueue({ maxAttempts: 1 });
    const runs: unknown[] = [];
    const worker = await startWorker(
      queue,
      (job: Job) => {
        runs.push([job.payload, job.attempt]);
        if (runs.length === 1) {
          throw new RateLimitedError({ retryAfterMs: 300 });
        }
      },
      { perQueue: 1 },
    );
    const before = performance.now();
    await queue.enqueueMany(many(2));
    await worker.event('completed', 2);
    expect(runs).toEqual([
      [0, 1],
      [0, 1],
      [1, 1],
    ]);
    expect(performance.now() - before).toBeGreaterThan(290);
    expect((await queue.stats()).totals).toMatchObject({ completed: 2, rate_limited: 1 });
  });

  it.each([{}, { group: 'g' }])(
    'lets the next job start once each rest is over, beside other workers (%p)',
    async (options) => {
      const queue = newQueue({ maxRateLimitRetries: 10 });
      for (let i = 0; i < 2; i++) await startWorker(queue, meetLimit);
      const before = performance.now();
      const job = await queue.enqueue(0, options);
      await eventually(async () => (await job.get())!.status === 'failed');
      expect(performance.now() - before).toBeLessThan(2_000); // a worker that missed the end of a rest polls a second later
    },
  );

  it.each([
    ['of the queue', { maxRateLimitRetries: 2 }, {}],
    ['of the handler', { maxRateLimitRetries: 9 }, { maxRateLimitRetries: 2 }],
  ])(
    'is thrown %s at most maxRateLimitRetries times; then the job is a dead letter that says why',
    async (_, ofQueue, own) => {
      const queue = newQueue({ maxAttempts: 1, ...ofQueue });
      const { id } = await queue.enqueue(0);
      const worker = await startWorker(queue, { handle: meetLimit, ...own });
      const { error } = await worker.event('failed');
      expect(error).toEqual(new RateLimitRetriesExhaustedError(id, 2));
      expect(worker.count('released')).toBe(2);
      const job = (await queue.get(id))!;
      const { message } = error as Error;
      expect(job).toMatchObject({ status: 'failed', attempts: 0, rateLimited: 3, lastError: message });
      expect(job.attemptLog.map(({ outcome, error: why }) => [outcome, why?.name])).toEqual([
        ['rate_limited', undefined],
        ['rate_limited', undefined],
        ['rate_limited', 'RateLimitRetriesExhaustedError'],
      ]);
      expect((await queue.stats()).totals).toMatchObject({ rate_limited: 3, failed: 1, released: 2 });

      expect(await queue.deadLetters.redrive(id)).toBe(true);
      await worker.event('failed', 2);
      expect(worker.count('released')).toBe(4);
    },
  );

  it.each([0, NaN, Infinity, 86_400_001])(
    'with retryAfterMs %p fails the attempt and rests nothing',
    async (ms) => {
      const queue = newQueue({ maxAttempts: 1 });
      const { id } = await queue.enqueue(0);
      const worker = await startWorker(queue, () => {
        throw new RateLimitedError({ retryAfterMs: ms });
      });
      await worker.event('failed');
      expect((await queue.get(id))?.lastError).toContain('retryAfterMs');
      expect(await queue.limits.get()).toEqual({ source: 'none' });
    },
  );
});
