// One call, two shapes: the service's `enqueue(name, payload)` on a queue, whose shape is `enqueue(payload, options)`.
import { describe, expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { InvalidOptionError } from '#queue/errors/errors.js';
import { coreQueue } from '../../support/queue/core-queue.js';

/** Calls enqueue as a caller without types would. */
async function refusalOf(queue: JobQueue, ...args: unknown[]): Promise<unknown> {
  const enqueue = queue.enqueue.bind(queue) as (...given: unknown[]) => Promise<unknown>;
  return enqueue(...args).catch((error: unknown) => error);
}

describe("the service's shape on a queue", () => {
  it.each<[string, unknown[]]>([
    ['whose payload has keys of its own', ['email', { to: 'ada@example.com' }]],
    ['whose payload looks like options', ['email', { id: 'u1', name: 'Ada', priority: 1 }]],
    ['whose payload is empty', ['email', {}]],
    ['whose payload is null', ['email', null]],
    ['with options', ['email', { to: 'ada@example.com' }, { delayMs: 5 }]],
  ])('%s is refused, with the way to say it, and nothing is written', async (_, args) => {
    const { queue, state } = coreQueue();
    const error = (await refusalOf(queue, ...args)) as Error;
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(error.message).toMatch(
      /^enqueue: expected \(payload, options\) on a queue, .*, found (two|three) arguments/,
    );
    expect(error.message).toContain('To name the job: queue.enqueue({ … }, { name: "email" }).');
    expect(await state.redis.exists(state.keys.pending)).toBe(0);
  });

  it('is refused with a third argument also where the first is not text', async () => {
    const { queue } = coreQueue();
    expect(await refusalOf(queue, { to: 'ada' }, {}, {})).toBeInstanceOf(InvalidOptionError);
  });
});

it('a text alone is a payload, and one with options is taken by enqueueMany', async () => {
  const { queue } = coreQueue();
  await queue.enqueue('hello');
  await queue.enqueueMany([{ payload: 'world', priority: 1 }]);
  expect((await queue.claimMany(2)).map(({ payload }) => payload)).toEqual(['world', 'hello']);
});
