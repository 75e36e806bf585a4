// The stack of a failed enqueue has the line that made it.
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineJob } from '#queue/enqueue/define-job.js';
import type { EnqueueMiddleware } from '#queue/enqueue/enqueue-middleware.js';
import type { JobQueue } from '#queue/job-queue.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { connect } from '../../support/redis/redis.js';
import { leaveBroken, newQueue } from '../../support/worker/workers.js';

const name = uniqueQueueName();
const Typed = defineJob(name, { payload: z.object({ to: z.string() }) });
const Slow = defineJob(name, { payload: z.object({ to: z.string() }).refine(() => Promise.resolve(false)) });

const passing: EnqueueMiddleware = { enqueue: async (_request, next) => await next() };
const wrapping: EnqueueMiddleware = {
  enqueue: (_request, next) => next().then((handles) => handles),
};

/** Each way to enqueue, with a payload that JSON refuses where the way takes one. */
const WAYS: Record<string, (queue: JobQueue, payload: unknown) => Promise<unknown>> = {
  'a plain enqueue': (queue, payload) => queue.enqueue(payload as object),
  'a typed enqueue': (queue, payload) => queue.enqueue(Typed, payload as { to: string }),
  'a bulk enqueue': (queue, payload) => queue.enqueueMany([{ payload }]),
  'a typed bulk enqueue': (queue, payload) => queue.enqueueMany(Typed, [{ payload: payload as { to: string } }]),
  'an add to a batch': (queue, payload) => queue.batch({}).add(queue.name, payload),
  'a bulk add to a batch': (queue, payload) => queue.batch({}).addMany(queue.name, [{ payload }]),
};

/** Makes a queue whose server is away. */
function awayQueue(middleware: EnqueueMiddleware[]): JobQueue {
  const redis = connect({ retryStrategy: () => 50 }, 'redis://127.0.0.1:1');
  redis.on('error', () => undefined);
  const queue = newQueue({ middleware, enqueueTimeoutMs: 20 }, redis, name);
  leaveBroken(queue);
  return queue;
}

/** Returns the name of the error of a way without a server. */
function expectedOf(way: string): string {
  return way.endsWith('to a batch') ? 'RedisUnsuitableError' : 'EnqueueError';
}

async function theCaller(enqueue: () => Promise<unknown>): Promise<Error> {
  try {
    await enqueue();
  } catch (error) {
    return error as Error;
  }
  throw new Error('it did not fail');
}

describe.each([
  ['without middleware', []],
  ['behind middleware that awaits', [passing]],
  ['behind middleware that chains', [wrapping]],
])('%s', (_, middleware) => {
  it.each(Object.keys(WAYS))('%s of a wrong payload has its caller in the stack', async (way) => {
    const queue = newQueue({ middleware }, undefined, uniqueQueueName());
    const { name: error, stack } = await theCaller(async () => await WAYS[way]!(queue, { to: 1n }));
    expect([error, stack]).toEqual(['InvalidPayloadError', expect.stringContaining('theCaller')]);
  });

  it('each way without a server has its caller in the stack', async () => {
    // All at once, because an add to a batch waits for a second.
    const told = await Promise.all(
      Object.entries(WAYS).map(async ([way, enqueue]) => {
        const { name: error, stack } = await theCaller(
          async () => await enqueue(awayQueue(middleware), { to: 'ada' }),
        );
        return [way, error, stack];
      }),
    );
    expect(told).toEqual(
      Object.keys(WAYS).map((way) => [way, expectedOf(way), expect.stringContaining('theCaller')]),
    );
  });

  it('a payload that a schema refuses later has its caller in the stack', async () => {
    const queue = newQueue({ middleware }, undefined, name);
    const { stack } = await theCaller(async () => await queue.enqueue(Slow, { to: 'ada' }));
    expect(stack).toContain('theCaller');
  });
});
