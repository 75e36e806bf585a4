// What acts around the attempts of a worker and the enqueues of a queue, in the core.
import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { JobQueue } from '#queue/job-queue.js';
import { defineJob } from '#queue/enqueue/define-job.js';
import type { EnqueueMiddleware, EnqueueRequest } from '#queue/enqueue/enqueue-middleware.js';
import { InvalidOptionError, InvalidPayloadError, NonRetryableError } from '#queue/errors/errors.js';
import { compose } from '#queue/model/compose.js';
import {
  withMiddleware,
  type AttemptMiddleware,
  type JobQueueMiddleware,
} from '#worker/handlers/attempt-middleware.js';
import { defineHandler } from '#worker/handlers/define-handler.js';
import type { Job } from '#worker/handlers/job.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { TestWorker, newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';

/** Makes a queue whose enqueues pass the middleware. */
function queueWith(...middleware: EnqueueMiddleware[]): JobQueue {
  return new JobQueue(connect(), uniqueQueueName(), { middleware });
}

function fail(): never {
  throw new TypeError('no good');
}

function plain(_job: Job): number {
  return 1;
}

/** Notes when it is entered and left. */
function noting(name: string, notes: string[]): AttemptMiddleware {
  return {
    attempt: async (_job, next) => {
      notes.push(`${name} in`);
      try {
        return await next();
      } finally {
        notes.push(`${name} out`);
      }
    },
  };
}

onEachStore('around an attempt', () => {
  it('the first is outermost, around schemas and handler, and returns the result', async () => {
    const queue = newQueue();
    const Add = defineJob(queue.name, { payload: z.object({ n: z.coerce.number() }), result: z.number() });
    const notes: string[] = [];
    const handler = defineHandler(Add, ({ payload }) => {
      notes.push(`handler ${typeof payload.n}`);
      return payload.n + 1;
    });
    const doubled: AttemptMiddleware = { attempt: async (_job, next) => 2 * Number(await next()) };
    await startWorker(queue, handler, { middleware: [doubled, noting('a', notes), noting('b', notes)] });
    const handle = await queue.enqueue(Add, { n: '20' });
    expect(await handle.result()).toBe(42);
    expect(notes).toEqual(['a in', 'b in', 'handler number', 'b out', 'a out']);
  });

  it('sees the error of the handler, and decides on the end of the attempt', async () => {
    const queue = newQueue({ maxAttempts: 5 });
    const final: AttemptMiddleware = {
      attempt: async (_job, next) => {
        try {
          return await next();
        } catch (error) {
          throw new NonRetryableError(`seen: ${(error as Error).message}`);
        }
      },
    };
    const worker = await startWorker(queue, fail, { middleware: [final] });
    const { id } = await queue.enqueue(1);
    await worker.event('failed');
    expect(await queue.get(id)).toMatchObject({ attempts: 1, lastError: 'seen: no good' });
  });

  it('may leave the handler out, and refuses a second call of next', async () => {
    const queue = newQueue({ maxAttempts: 1 });
    let ran = 0;
    const cached: AttemptMiddleware = {
      attempt: async ({ payload }, next) => (payload === 'cached' ? 'kept' : [await next(), await next()]),
    };
    await startWorker(queue, () => ++ran, { middleware: [cached] });
    expect(await (await queue.producer.one(undefined, 'cached', undefined)).result()).toBe('kept');
    await expect((await queue.enqueue({})).result()).rejects.toThrow('next() a second time');
    expect(ran).toBe(1);
  });

  it('carries a context into the handler, and fails an attempt whose middleware throws', async () => {
    const queue = newQueue({ maxAttempts: 1 });
    const context = new AsyncLocalStorage<string>();
    const middleware: AttemptMiddleware = {
      attempt: (job, next) => {
        if (!job.metadata.request) throw new Error('no request');
        return context.run(job.metadata.request, next);
      },
    };
    await startWorker(queue, () => context.getStore(), { middleware: [middleware] });
    expect(await (await queue.enqueue(1, { metadata: { request: 'r1' } })).result()).toBe('r1');
    await expect((await queue.enqueue(1)).result()).rejects.toThrow('no request');
  });

  it('is composed once, and not at all where there is none', () => {
    expect(withMiddleware([], plain)).toBe(plain);
    expect(withMiddleware([{ enqueue: (_request, next) => next() } as JobQueueMiddleware], plain)).toBe(plain);
    expect(compose([], plain)).toBe(plain);
  });
});

describe('around an enqueue', () => {
  it('sees each call once with all of its jobs, and fills in their metadata', async () => {
    const requests: EnqueueRequest[] = [];
    const queue = queueWith({
      enqueue: async (request, next) => {
        requests.push(request);
        request.jobs.forEach((job, i) => (job.options.metadata = { ...job.options.metadata, at: `${i}` }));
        return next();
      },
    });
    const options = { priority: 1, metadata: { own: 'x' } };
    const one = await queue.enqueue({ n: 1 }, options);
    const many = await queue.enqueueMany([{ payload: 2 }, { payload: 3, name: 'other' }]);
    expect(requests).toMatchObject([
      { queue: queue.name, method: 'enqueue', jobs: [{ name: queue.name, payload: { n: 1 } }] },
      {
        method: 'enqueueMany',
        jobs: [
          { name: queue.name, payload: 2 },
          { name: 'other', payload: 3 },
        ],
      },
    ]);
    expect(options).toEqual({ priority: 1, metadata: { own: 'x' } });
    const records = await Promise.all([one, ...many].map((handle) => handle.get()));
    expect(records).toMatchObject([
      { payload: { n: 1 }, priority: 1, metadata: { own: 'x', at: '0' } },
      { payload: 2, metadata: { at: '0' } },
      { name: 'other', metadata: { at: '1' } },
    ]);
  });

  it('comes before the checks: the schema sees the payload that it made', async () => {
    const Send = defineJob('send', { payload: z.object({ to: z.email() }) });
    const queue = queueWith({
      enqueue: (request, next) => {
        request.jobs.forEach((job) => (job.payload = { to: `${String(job.payload)}@example.com` }));
        return next();
      },
    });
    const handle = await queue.enqueue(Send, 'ada' as never);
    expect(await handle.get()).toMatchObject({ name: 'send', payload: { to: 'ada@example.com' } });
    const [first] = await queue.enqueueMany(Send, [{ payload: 'ada' as never }]);
    expect(await first!.get()).toMatchObject({ payload: { to: 'ada@example.com' } });
    await expect(queue.enqueue(Send, ' ' as never)).rejects.toThrow(InvalidPayloadError);
  });

  it('refuses a call by a throw, and nothing is written', async () => {
    const queue = queueWith({ enqueue: () => Promise.reject(new Error('too many')) });
    await expect(queue.enqueue({ n: 1 })).rejects.toThrow('too many');
    await expect(queue.enqueueMany([{ payload: 1 }])).rejects.toThrow('too many');
    expect((await queue.stats()).pending).toBe(0);
  });

  it('must hand back the handles', async () => {
    const queue = queueWith({ enqueue: (async () => undefined) as never });
    await expect(queue.enqueue({ n: 1 })).rejects.toThrow(InvalidOptionError);
  });

  it('has bad options refused by name', async () => {
    const queue = queueWith({ enqueue: (_request, next) => next() });
    await expect(queue.enqueue({ n: 1 }, { delay: 5 } as never)).rejects.toThrow('enqueue.delay');
    await expect(queue.enqueue({ n: 1 }, 5 as never)).rejects.toThrow(InvalidOptionError);
    await expect(queue.enqueueMany([{ payload: 1 }, { payload: 2, delayMs: -1 }])).rejects.toThrow(
      'enqueueMany[1].delayMs',
    );
  });
});

it.each<[unknown, string]>([
  [5, 'middleware: expected a list'],
  [[null], 'middleware[0]: expected an object with a method attempt, bulk, enqueue or event'],
  [[{ enqueue: () => 1 }, {}], 'middleware[1]'],
  [[{ attempt: 5 }], 'middleware[0]'],
])('a queue and a worker refuse the middleware %j', (middleware, message) => {
  const queue = newQueue();
  expect(() => new JobQueue(connect(), 'a', { middleware: middleware as never })).toThrow(message);
  const entry = { queue, handlers: { [queue.name]: () => 1 } };
  expect(() => new TestWorker([entry], { middleware: middleware as never })).toThrow(message);
});
