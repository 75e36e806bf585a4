import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineJob, type JobDefinitionOptions } from '#queue/enqueue/define-job.js';
import { InvalidOptionError, InvalidPayloadError } from '#queue/errors/errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import type { StandardSchema } from '#queue/validation/validate-with-schema.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { failure } from '../../support/faults/failure.js';
import { keysLike } from '../../support/redis/redis-reads.js';

const SendEmail = defineJob('email', {
  payload: z.object({ to: z.email(), cc: z.array(z.string()).default([]) }),
  result: z.object({ sentAt: z.coerce.date() }),
});

describe('an enqueue of a definition', () => {
  it('has its name, stores the payload as given, and reads the result by the schema', async () => {
    const { queue } = coreQueue();
    const job = await queue.enqueue(SendEmail, { to: 'ada@example.com' }, { id: 'mine' });
    expect(job).toMatchObject({ id: 'mine', name: 'email', queue: queue.name, outcome: 'new' });
    const claimed = (await queue.claim())!;
    expect(claimed).toMatchObject({ name: 'email', payload: { to: 'ada@example.com' } });
    await queue.complete(claimed, { sentAt: new Date(0) });
    expect((await job.result()).sentAt).toEqual(new Date(0));
  });

  it('has a result that the queue reads by the schema too, by id', async () => {
    const { queue } = coreQueue();
    await queue.enqueue(SendEmail, { to: 'ada@example.com' }, { id: 'mine' });
    await queue.complete((await queue.claim())!, { sentAt: new Date(0) });
    expect((await queue.result(SendEmail, 'mine', { timeoutMs: 10_000 })).sentAt).toEqual(new Date(0));
    expect(await queue.result<{ sentAt: string }>('mine')).toEqual({ sentAt: new Date(0).toISOString() });
    const Other = defineJob('sms', { payload: z.string(), result: z.any() });
    await expect(queue.result(Other, 'mine')).rejects.toThrow(InvalidOptionError);
  });

  it('without defaults, in a queue of its own, is a plain job', async () => {
    const { queue } = coreQueue();
    const Own = defineJob(queue.name, { payload: z.number() });
    await queue.enqueue(Own, 1);
    await queue.enqueueMany(Own, [{ payload: 2 }]);
    expect((await queue.claimMany(2)).map(({ plain, payload }) => [plain, payload])).toEqual([
      [true, 1],
      [true, 2],
    ]);
  });

  it('keeps its place among other jobs of the same tick', async () => {
    const { queue } = coreQueue();
    const Own = defineJob('own', { payload: z.number() });
    await Promise.all([
      queue.enqueueMany(Own, [{ payload: 1 }]),
      queue.enqueue(Own, 2),
      queue.enqueueMany([{ payload: 3 }]),
      queue.enqueue(4),
    ]);
    expect((await queue.claimMany(4)).map(({ payload }) => payload)).toEqual([1, 2, 3, 4]);
  });

  it.each<[string, unknown, string, string]>([
    ['a missing field', {}, 'payload.to', 'string, found undefined'],
    ['a wrong field', { to: 5 }, 'payload.to', 'string, found 5'],
    ['a format', { to: 'ada' }, 'payload.to', 'what its schema allows (Invalid email address), found "ada"'],
    ['an element', { to: 'a@b.de', cc: ['x', null] }, 'payload.cc[1]', 'string, found null'],
    ['no object', null, 'payload', 'object, found null'],
    ['what JSON cannot carry', { to: 5n }, 'payload.to', 'a value that JSON can carry, found a BigInt (5n)'],
  ])('refuses %s with its path, and writes nothing', async (_what, payload, path, rest) => {
    const { queue, state } = coreQueue();
    const bulk = [{ payload: { to: 'a@b.de' } }, { payload: payload as never }];
    for (const [enqueue, place] of [
      [() => queue.enqueue(SendEmail, payload as never), ''],
      [() => queue.enqueueMany(SendEmail, bulk), 'enqueueMany[1].'],
    ] as const) {
      const error = await failure(enqueue);
      expect(error).toBeInstanceOf(InvalidPayloadError);
      expect(error).toMatchObject({ path: place + path, message: `${place}${path}: expected ${rest}.` });
    }
    expect(await keysLike(state.redis, `*${queue.name}*`)).toEqual([]);
  });

  it('refuses a payload that JSON would change', async () => {
    const { queue } = coreQueue();
    const Remind = defineJob('remind', { payload: z.object({ at: z.date() }) });
    expect(await failure(() => queue.enqueue(Remind, { at: new Date(0) }))).toMatchObject({
      message: 'payload.at: expected date, found "1970-01-01T00:00:00.000Z".',
    });
  });

  it('refuses a bulk once, of which an asynchronous schema refuses one job and the options of another are bad', async () => {
    const { queue } = coreQueue();
    const schema: StandardSchema<string> = {
      '~standard': { version: 1, vendor: 'test', validate: () => Promise.resolve({ issues: [{ message: 'no' }] }) },
    };
    const unheard: unknown[] = [];
    const note = (reason: unknown) => void unheard.push(reason);
    process.on('unhandledRejection', note);
    const jobs = [{ payload: 'a' }, { payload: 'b', priority: -1 }];
    expect(await failure(() => queue.enqueueMany(defineJob('greet', { payload: schema }), jobs))).toBeInstanceOf(
      InvalidOptionError,
    );
    await new Promise(setImmediate);
    process.off('unhandledRejection', note);
    expect(unheard).toEqual([]);
  });

  it('waits for a schema that is asynchronous, and words the faults of any library', async () => {
    const { queue, state } = coreQueue();
    const schema: StandardSchema<string> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value) =>
          Promise.resolve(
            value === 'ada'
              ? { value }
              : {
                  issues: [
                    { message: 'Invalid type: Expected "ada" but received something', path: [{ key: 'a' }, 0] },
                  ],
                },
          ),
      },
    };
    const Greet = defineJob('greet', { payload: schema });
    await queue.enqueue(Greet, 'ada');
    await queue.enqueueMany(Greet, [{ payload: 'ada' }]);
    expect(await state.pending()).toHaveLength(2);
    for (const [enqueue, path] of [
      [() => queue.enqueue(Greet, 'bob'), 'payload'],
      [() => queue.enqueueMany(Greet, [{ payload: 'ada' }, { payload: 'bob' }]), 'enqueueMany[1].payload'],
    ] as const) {
      expect(await failure(enqueue)).toMatchObject({ message: `${path}.a[0]: expected "ada", found undefined.` });
    }
    expect(await state.pending()).toHaveLength(2);
  });
});

describe('the defaults of a definition', () => {
  const Report = defineJob('report', {
    payload: z.string(),
    maxAttempts: 7,
    maxCrashes: 2,
    backoff: 500,
    timeoutMs: 1_000,
    keepResult: false,
    resultTtlMs: 60_000,
    priority: 5,
    expiresInMs: 60_000,
  });

  async function enqueued(queue: JobQueue, options?: Parameters<typeof queue.enqueue>[1]) {
    await queue.enqueue(Report, 'q3', options);
    return (await queue.claim())!.options;
  }

  it('travel with the job, under the options of the enqueue', async () => {
    const { queue } = coreQueue({ maxAttempts: 2 });
    const defaults = { maxAttempts: 7, backoff: 500, timeoutMs: 1_000, keepResult: false, resultTtlMs: 60_000 };
    expect(await enqueued(queue)).toEqual(defaults);
    expect(await enqueued(queue, { maxAttempts: 1, backoff: undefined })).toEqual({ ...defaults, maxAttempts: 1 });
    const { id } = await queue.enqueue(Report, 'q4', { priority: 9 });
    expect(await queue.get(id)).toMatchObject({ priority: 9, maxAttempts: 7, expiresAt: expect.any(Date) });
  });

  it('leave a function of a backoff to the worker', async () => {
    const { queue } = coreQueue();
    const Own = defineJob(queue.name, { payload: z.string(), backoff: () => 5 });
    await queue.enqueue(Own, 'x');
    expect((await queue.claim())!.plain).toBe(true);
  });
});

describe('defineJob refuses', () => {
  it.each<[string, object, string]>([
    [
      'no payload',
      {},
      'defineJob("email").payload: expected a schema that follows Standard Schema, such as one of zod, found undefined.',
    ],
    [
      'a payload that is no schema',
      { payload: { to: 'string' } },
      'defineJob("email").payload: expected a schema that follows',
    ],
    [
      'a result that is no schema',
      { payload: z.any(), result: 5 },
      'defineJob("email").result: expected a schema that',
    ],
    [
      'a bad default',
      { payload: z.any(), maxAttempts: 0 },
      'defineJob("email").maxAttempts: expected a whole number from 1 to 1000, found 0.',
    ],
    ['a bad backoff', { payload: z.any(), backoff: 'soon' }, 'defineJob("email").backoff: expected ms, { type'],
    [
      'a bad priority',
      { payload: z.any(), priority: -1 },
      'defineJob("email").priority: expected a whole number from 0 to 1000, found -1.',
    ],
    ['a bad queue', { payload: z.any(), queue: 'a b' }, 'queue name: expected 1 to 128 of'],
    ['an option it does not know', { payload: z.any(), maxAttemps: 5 }, 'Did you mean maxAttempts?'],
    ['what is no object', 5 as never, 'defineJob("email"): expected an object with a payload schema, found 5.'],
  ])('%s', async (_what, options, message) => {
    const define = () => defineJob('email', options as JobDefinitionOptions<StandardSchema, StandardSchema>);
    const error = await failure(define);
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(error.message).toContain(message);
  });

  it('a bad name', async () => {
    expect(await failure(() => defineJob('', { payload: z.any() }))).toMatchObject({ subject: 'job name' });
  });

  it('bad options at an enqueue, as without a definition', async () => {
    const { queue } = coreQueue();
    const enqueue = (options: unknown) =>
      failure(() => queue.enqueue(SendEmail, { to: 'a@b.de' }, options as object));
    expect(await enqueue(5)).toMatchObject({ subject: 'enqueue', found: '5' });
    expect(await enqueue({ delayMs: -1 })).toMatchObject({ subject: 'enqueue.delayMs', found: '-1' });
    expect(await enqueue({ name: 'other' })).toMatchObject({ subject: 'enqueue.name', found: '"other"' });
  });
});
