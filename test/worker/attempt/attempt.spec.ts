import { AsyncLocalStorage } from 'node:async_hooks';
import { runInNewContext } from 'node:vm';
import { expect, it } from '@jest/globals';
import { InvalidPayloadError, NonRetryableError, RetryLaterError } from '#queue/errors/errors.js';
import type { Job } from '#worker/handlers/job.js';
import { gate } from '../../support/faults/wait.js';
import { newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';

onEachStore('the result of a handler', () => {
  it.each([
    ['an object, at once', () => ({ sent: true }), { sent: true }],
    ['a promise', () => Promise.resolve([1, 'two']), [1, 'two']],
    ['null', () => null, null],
    ['false', () => false, false],
    ['nothing', () => undefined, undefined],
    ["another realm's promise", () => runInNewContext('Promise.resolve(7)') as unknown, 7],
  ])('%s is the result', async (_, handler, expected) => {
    const queue = newQueue();
    const { id } = await queue.enqueue({});
    const worker = await startWorker(queue, handler);
    const event = await worker.event('completed');
    expect(event.result).toEqual(expected);
    const job = await queue.get(id);
    expect(job).toMatchObject({ status: 'completed', attempts: 1, errors: 0 });
    expect(job!.result).toEqual(expected);
    await expect(queue.result(id)).resolves.toEqual(expected);
  });

  it.each([
    ['a BigInt', () => ({ big: 1n })],
    ['a function', () => () => 1],
    ['a cycle', () => cycle()],
  ])('%s cannot be stored: the job is a dead letter at once', async (_, handler) => {
    const queue = newQueue();
    const { id } = await queue.enqueue({});
    const worker = await startWorker(queue, handler);
    const event = await worker.event('failed');
    expect(event.error).toBeInstanceOf(InvalidPayloadError);
    expect(await queue.get(id)).toMatchObject({ status: 'failed', attempts: 1, lastError: expect.any(String) });
  });

  it('is not stored where the handler or the job says so', async () => {
    const queue = newQueue();
    const kept = await queue.enqueue({}, { keepResult: true });
    const dropped = await queue.enqueue({});
    const worker = await startWorker(queue, { handle: () => 'x', keepResult: false });
    await worker.event('completed', 2);
    expect((await queue.get(kept.id))!.result).toBe('x');
    expect((await queue.get(dropped.id))!.result).toBeUndefined();
  });
});

onEachStore('an error of a handler', () => {
  it.each([
    ['an error, at once', () => raise(new TypeError('no address')), 'TypeError', 'no address'],
    ['an error, later', () => Promise.reject(new RangeError('too far')), 'RangeError', 'too far'],
    ['text', () => raise('just text'), 'Error', 'just text'],
    ['nothing', () => raise(undefined), 'Error', 'undefined'],
    ['null', () => Promise.reject(null), 'Error', 'null'],
    ['an object without a prototype', () => raise(Object.create(null)), 'Error', '{}'],
    [
      'an error whose message is no text',
      () => raise(Object.assign(new Error('x'), { message: { code: 7 } })),
      'Error',
      '{"code":7}',
    ],
    ['an error that cannot be read', () => raise(unreadable()), 'Error', 'an error that cannot be read'],
  ])('%s is kept with the job', async (_, handler, name, message) => {
    const queue = newQueue({ maxAttempts: 1 });
    const { id } = await queue.enqueue({});
    const worker = await startWorker(queue, handler);
    await worker.event('failed');
    const job = await queue.get(id);
    expect(job).toMatchObject({ status: 'failed', attempts: 1, errors: 1, lastError: message });
    expect(job!.attemptLog).toMatchObject([{ outcome: 'error', error: { name, message } }]);
  });

  it('is tried again until its attempts are used up', async () => {
    const queue = newQueue({ maxAttempts: 3 });
    const { id } = await queue.enqueue({});
    const attempts: number[] = [];
    const worker = await startWorker(queue, (job: Job<never>) => {
      attempts.push(job.attempt);
      throw new Error(`attempt ${job.attempt}`);
    });
    await worker.event('failed');
    expect(attempts).toEqual([1, 2, 3]);
    expect(worker.count('retry')).toBe(2);
    expect(await queue.get(id)).toMatchObject({ status: 'failed', attempts: 3, lastError: 'attempt 3' });
  });

  it('goes by the limit of the job before that of the handler before that of the queue', async () => {
    const queue = newQueue({ maxAttempts: 4 });
    const handlers = {
      own: { handle: () => raise(new Error('x')), maxAttempts: 2 },
      none: () => raise(new Error('x')),
    };
    const [job, handler, fallback] = await queue.enqueueMany([
      { payload: 1, name: 'own', maxAttempts: 3 },
      { payload: 1, name: 'own' },
      { payload: 1, name: 'none' },
    ]);
    const worker = await startWorker([{ queue, handlers }]);
    await worker.event('failed', 3);
    const attempts = async (id: string) => (await queue.get(id))!.attempts;
    expect(await Promise.all([job!.id, handler!.id, fallback!.id].map(attempts))).toEqual([3, 2, 4]);
  });

  it('NonRetryableError makes a dead letter at once', async () => {
    const queue = newQueue();
    const { id } = await queue.enqueue({});
    const worker = await startWorker(queue, () => raise(new NonRetryableError('no such user')));
    await worker.event('failed');
    expect(await queue.get(id)).toMatchObject({ status: 'failed', attempts: 1, lastError: 'no such user' });
  });

  it.each([
    ['job.snooze', (job: Job<never>) => job.snooze(10)],
    ['RetryLaterError', () => raise(new RetryLaterError(10))],
  ])('%s brings the job back later, its attempt uncounted', async (_, postpone) => {
    const queue = newQueue({ maxAttempts: 1 });
    const { id } = await queue.enqueue({});
    const seen: { attempt: number; at: number }[] = [];
    const worker = await startWorker(queue, (job: Job<never>) => {
      seen.push({ attempt: job.attempt, at: job.claimedAt.getTime() });
      return seen.length < 4 ? postpone(job) : 'done';
    });
    await worker.event('completed');
    expect(seen.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1]);
    expect(seen[1]!.at - seen[0]!.at).toBeGreaterThanOrEqual(10);
    const job = await queue.get(id);
    expect(job).toMatchObject({ status: 'completed', attempts: 1, errors: 0, interruptions: 0 });
    expect(job!.attemptLog.map(({ outcome }) => outcome)).toEqual(['snooze', 'snooze', 'snooze', 'completed']);
  });
});

onEachStore('the job of a handler', () => {
  it('is the job as it was enqueued, and its claim', async () => {
    const queue = newQueue();
    const seen = gate<Job<{ to: string }>>();
    const { id } = await queue.enqueue({ to: 'ada' }, { name: 'mail', maxAttempts: 5 });
    await startWorker([{ queue, handlers: { mail: (job: Job<{ to: string }>) => seen.open(job) } }]);
    const job = await seen.promise;
    expect(job).toMatchObject({ id, name: 'mail', queue: queue.name, payload: { to: 'ada' }, attempt: 1 });
    expect(job.maxAttempts).toBe(5);
    expect(job.fence).toBeGreaterThan(0);
    expect(job.signal.aborted).toBe(false);
    expect(job.claimedAt.getTime()).toBeGreaterThanOrEqual(job.enqueuedAt.getTime());
  });

  it('grows its fence with every claim', async () => {
    const queue = newQueue({ maxAttempts: 3 });
    await queue.enqueue({});
    const fences: number[] = [];
    const worker = await startWorker(queue, (job: Job<never>) => {
      fences.push(job.fence);
      throw new Error('again');
    });
    await worker.event('failed');
    expect(fences).toHaveLength(3);
    expect(fences).toEqual(fences.toSorted((a, b) => a - b));
    expect(new Set(fences).size).toBe(3);
  });
});

function raise(thrown: unknown): never {
  throw thrown;
}

function cycle(): unknown {
  const value: Record<string, unknown> = {};
  value.self = value;
  return value;
}

function unreadable(): Error {
  return Object.defineProperty(new Error('x'), 'message', {
    get() {
      throw new Error('no');
    },
  });
}

onEachStore('the async context of a job', () => {
  it.each([
    ['ended', 1, 2],
    ['began', 3, 0],
  ])('is not that of a job that %s before it, nor reported there', async (_, concurrency, prefetch) => {
    const queue = newQueue();
    const trace = new AsyncLocalStorage<unknown>();
    const seen: unknown[] = [];
    const handle = async (job: Job) => {
      seen.push(trace.getStore());
      trace.enterWith(job.payload);
      await new Promise(setImmediate);
    };
    await queue.enqueueMany([{ payload: 0 }, { payload: 1 }, { payload: 2 }]);
    const list = [{ queue, concurrency, prefetch, handlers: { [queue.name]: handle } }];
    const worker = await startWorker(list, undefined, { onEvent: () => seen.push(trace.getStore()) });
    await worker.event('completed', 3);
    expect(seen).toEqual(Array(9).fill(undefined)); // each job, its start and its end
  });

  it('is where a lazy query that the handler returns begins, though it begins in its then', async () => {
    const queue = newQueue();
    const transaction = new AsyncLocalStorage<string>();
    const begin = (resolve: (value: unknown) => void) => resolve(transaction.getStore() ?? 'none');
    const handle = () => {
      transaction.enterWith('begun');
      return new Proxy({}, { get: (_, key) => (key === 'then' ? begin : undefined) });
    };
    const worker = await startWorker(queue, handle);
    expect(await (await queue.enqueue({})).result()).toBe('begun');
    expect(worker.warnings).toEqual([]);
  });
});
