import { describe, expect, it } from '@jest/globals';
import { awaitAll } from '#queue/results/awaited-results.js';
import { InvalidOptionError, InvalidPayloadError } from '#queue/errors/errors.js';
import { JobQueue } from '#queue/job-queue.js';
import { YEAR_MS } from '#queue/runtime/bounds.js';
import type { EnqueueOptions } from '#queue/enqueue/enqueue-options.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { failure } from '../../support/faults/failure.js';
import { connect } from '../../support/redis/redis.js';
import { keysLike } from '../../support/redis/redis-reads.js';

describe('a queue refuses', () => {
  it.each([
    ['visibilityMs', -1, 'a whole number from 100 to 31536000000 ms', '-1'],
    ['visibilityMs', 1.5, 'a whole number from 100 to 31536000000 ms', '1.5'],
    ['visibilityMs', Number.NaN, 'a whole number from 100 to 31536000000 ms', 'NaN'],
    ['maxAttempts', 0, 'a whole number from 1 to 1000', '0'],
    ['maxCrashes', '3', 'a whole number from 1 to 1000', '"3"'],
    ['completedHistory', -1, 'a whole number from 0 to 1000000', '-1'],
    ['deadLetterCap', 0, 'a whole number from 1 to 10000000', '0'],
    ['events', 'sometimes', "'listened', 'always' or 'off'", '"sometimes"'],
    ['prefix', 'a b', '1 to 64 of A-Z a-z 0-9 _ . -', '"a b"'],
    ['prefix', '{x}', '1 to 64 of A-Z a-z 0-9 _ . -', '"{x}"'],
    // Its queue "b" would have the keys of the queue "q:b" of the prefix "app".
    ['prefix', 'app:q', '1 to 64 of A-Z a-z 0-9 _ . -', '"app:q"'],
    ['hashTag', 'yes', 'true or false', '"yes"'],
    ['rateLimit', 100, '{ limit, periodMs, burst? }, or a list of at most 8 of these', '100'],
    ['backoff', 'soon', 'ms or { type, delayMs, maxDelayMs?, jitter? } or a function', '"soon"'],
    ['backoff', -5, '0 ms or more', '-5'],
  ])('the option %s: %j', async (option, value, expected, found) => {
    const error = await failure(() => new JobQueue(connect(), 'jobs', { [option]: value }));
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(error).toMatchObject({ subject: `queue "jobs".${option}`, found });
    if (option !== 'backoff') expect(error.expected).toBe(expected);
  });

  it('an option that it does not know, and suggests the one that was meant', async () => {
    const error = await failure(() => new JobQueue(connect(), 'jobs', { visibiltyMs: 5_000 } as object));
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(error.message).toBe(
      'queue "jobs".visibiltyMs: expected a known option, found "visibiltyMs". Did you mean visibilityMs?',
    );
  });

  it('an option that other queues call by another name, even beside a missing option', async () => {
    const error = await failure(
      () => new JobQueue(connect(), 'jobs', { rateLimit: { max: 10, duration: 1_000 } } as object),
    );
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(error.message).toBe(
      'queue "jobs".rateLimit.max: expected a known option, found "max". Did you mean limit?',
    );
  });

  it.each([
    [{ pth: 1 }, 'Known: '], // no option is near enough to a short word
    [{ prefx: 1 }, 'Did you mean prefix?'],
    [{ globalConcurrency: 1 }, 'Did you mean maxRunning?'],
    [{ opts: { maxAttempts: 1 } }, 'Write its fields here, without opts.'],
    [{ defaultJobOptions: { attempts: 3 } }, 'Write its fields here, without defaultJobOptions.'],
    [{ repeat: { cron: '0 3 * * *' } }, 'For a recurring job use @RecurringJob, or jobs.schedules.upsert'],
    [{ visibilityMs: '30s' }, 'found "30s". Write 30000.'],
    [{ visibilityMs: '1.5 min' }, 'Write 90000.'],
    [{ visibilityMs: '30000' }, 'Write 30000 without quotes, or convert the text with Number().'],
    [{ visibilityMs: Number.NaN }, 'Number() of text, or of a missing variable, is NaN.'],
    [{ maxAttempts: '5' }, 'Write 5 without quotes'],
    [{ visibilityMs: '4000 d' }, / ms, found "4000 d"\.$/], // that many ms would be refused too
    [{ maxAttempts: '1.5' }, /found "1\.5"\.$/],
    [{ maxAttempts: '5000' }, /found "5000"\.$/],
    [{ maxAttempts: '5s' }, /found "5s"\.$/],
  ])('%j, and suggests only a name that is close', async (options, hint) => {
    const error = await failure(() => new JobQueue(connect(), 'jobs', options as object));
    expect(error.message).toMatch(hint);
  });

  it.each(['', 'my jobs', 'a{b}', '{jobs}', 'a*', 'jobs\n', 'é', 'x'.repeat(129), 5, undefined, null])(
    'the name %j',
    async (name) => {
      const error = await failure(() => new JobQueue(connect(), name as string));
      expect(error).toBeInstanceOf(InvalidOptionError);
      expect(error).toMatchObject({ subject: 'queue name', expected: '1 to 128 of A-Z a-z 0-9 _ . : @ / -' });
    },
  );
});

const BOUNDED = { key: 'k', for: 'pending', onConflict: 'replace', maxDelayMs: 1_000 };

describe('an enqueue refuses, and writes nothing', () => {
  it.each<[string, unknown]>([
    ['enqueue.delayMs', { delayMs: -1 }],
    ['enqueue.delayMs', { delayMs: '5s' }],
    ['enqueue.runAt', { runAt: new Date(Number.NaN) }],
    ['enqueue.runAt', { runAt: '2030-01-01' }],
    ['enqueue.runAt', { runAt: Math.floor(Date.now() / 1_000) + 60 }], // seconds, which would be in 1970
    ['enqueue.runAt', { runAt: new Date(Math.floor(Date.now() / 1_000)) }],
    ['enqueue.runAt', { runAt: 1e300 }],
    ['enqueue.runAt', { runAt: Date.now() + YEAR_MS + 60_000 }],
    ['enqueue.runAt', { runAt: new Date(Date.now() + YEAR_MS + 60_000) }],
    ['enqueue', { delayMs: 5, runAt: 5 }],
    ['enqueue.expiresInMs', { delayMs: 3_600_000, expiresInMs: 1_000 }],
    ['enqueue.expiresInMs', { runAt: Date.now() + 3_600_000, expiresInMs: 1_000 }],
    ['enqueue.backoff.maxDelayMs', { backoff: { type: 'exponential', delayMs: 5_000, maxDelayMs: 1_000 } }],
    ['enqueue.priority', { priority: 1_001 }],
    ['enqueue.priority', { priority: -1 }],
    ['enqueue.maxAttempts', { maxAttempts: 0 }],
    ['enqueue.timeoutMs', { timeoutMs: 0 }],
    ['enqueue.resultTtlMs', { resultTtlMs: 0 }],
    ['enqueue.expiresInMs', { expiresInMs: 0 }],
    ['enqueue.unique', { unique: 'k' }],
    ['enqueue.unique.key', { unique: { for: 'pending' } }],
    ['enqueue.unique.key', { unique: { key: '', for: 'pending' } }],
    ['enqueue.unique.key', { unique: { key: '\uD800', for: 'pending' } }],
    ['enqueue.unique.key', { unique: { key: '@schedule:r', for: 'pending' } }],
    ['job id', { id: '@schedule:nightly:1764547200000' }],
    ['enqueue.unique.for', { unique: { key: 'k', for: 'ever' } }],
    ['enqueue.unique.for.ms', { unique: { key: 'k', for: { ms: 0 } } }],
    ['enqueue.unique.onConflict', { unique: { key: 'k', for: 'pending', onConflict: 'drop' } }],
    ['enqueue.unique.keep', { unique: { key: 'k', for: 'pending', keep: 'last' } }],
    ['enqueue.unique.keep', { unique: { key: 'k', for: 'pending', keep: 'newest', onConflict: 'replace' } }],
    ['enqueue.unique.keep', { unique: { key: 'k', for: 'pending', keep: 'oldest', onConflict: 'replace' } }],
    ['enqueue.unique.keep', { unique: { key: 'k', for: 'pending', keep: 'newest', onConflict: 'keep' } }],
    ['enqueue.unique.for', { unique: { key: 'k', for: 'pending', onConflict: 'cancel-running' } }],
    ['enqueue.unique.for', { unique: { key: 'k', for: { ms: 5 }, onConflict: 'cancel-running' } }],
    ['enqueue', { unique: { key: 'k', for: 'unfinished', onConflict: 'cancel-running' }, runAt: Date.now() + 10 }],
    ['enqueue.unique.maxDelayMs', { unique: { ...BOUNDED, maxDelayMs: 0 }, delayMs: 0 }],
    ['enqueue.unique.maxDelayMs', { unique: BOUNDED }],
    ['enqueue.unique.maxDelayMs', { unique: BOUNDED, delayMs: 1_001 }],
    ['enqueue.unique.maxDelayMs', { unique: BOUNDED, runAt: Date.now() + 10 }],
    ['enqueue.unique.maxDelayMs', { unique: { ...BOUNDED, onConflict: 'keep' }, delayMs: 10 }],
    ['enqueue.unique.maxDelayMs', { unique: { ...BOUNDED, onConflict: undefined }, delayMs: 10 }],
    ['enqueue.backoff.jitter', { backoff: { type: 'fixed', delayMs: 1, jitter: 2 } }],
    ['enqueue.backoff', { backoff: () => 5 }],
    ['enqueue.name', { name: 5 }],
    ['job name', { name: '' }],
    ['job name', { name: 'x'.repeat(257) }],
    ['job name', { name: '\uDC00' }],
    ['enqueue.id', { id: 5 }],
    ['job id', { id: '' }],
    ['job id', { id: 'a\nb' }],
    ['job id', { id: 'a\tb' }],
    ['job id', { id: 'a\u009bb' }],
    ['job id', { id: '\uD800' }],
    ['job id', { id: '@batch:b:then' }],
    ['job id', { id: '@failed:a:1' }],
    ['enqueue.after[0]', { after: ['a\tb'] }],
    ['job id', { id: 'x'.repeat(129) }],
    ['enqueue.delay', { delay: 5 }],
    ['enqueue.attempts', { attempts: 5 }],
    ['enqueue', 5],
    ['enqueue', null],
  ])('%s of %j', async (subject, options) => {
    const { queue, state } = coreQueue();
    const error = await failure(() => queue.enqueue(1, options as EnqueueOptions));
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(error.subject).toBe(subject);
    expect(error.message).toMatch(/: expected .+, found .+\./);
    expect(error.message).not.toMatch(/Invalid input|received/);
    expect(await keysLike(state.redis, `*${queue.name}*`)).toEqual([]);
  });

  it('a batch of which one job is bad', async () => {
    const { queue, state } = coreQueue();
    const jobs = [{ payload: 1 }, { payload: 1n }, { payload: 3 }];
    expect(await failure(() => queue.enqueueMany(jobs))).toBeInstanceOf(InvalidPayloadError);
    const misnamed = [{ payload: 1 }, { payload: 2, id: 'a\tb' }];
    expect(await failure(() => queue.enqueueMany(misnamed))).toBeInstanceOf(InvalidOptionError);
    expect(await keysLike(state.redis, `*${queue.name}*`)).toEqual([]);
  });
});

describe('other calls refuse, and change nothing', () => {
  it.each<[string, (queue: JobQueue) => Promise<unknown>]>([
    ['count', (queue) => queue.claimMany(0)],
    ['count', (queue) => queue.claimMany(1_001)],
    ['timeoutMs', (queue) => queue.claim({ timeoutMs: -1 })],
    ['timeoutMs', (queue) => queue.claim({ timeoutMs: Number.NaN })],
    ['limit', (queue) => queue.reclaim({ limit: 0 })],
    ['list.limit', (queue) => queue.list('pending', { limit: 1_001 })],
    ['list.offset', (queue) => queue.list('pending', { offset: -1 })],
    ['list status', (queue) => queue.list('waiting' as 'pending')],
    ['ids.length', (queue) => queue.deadLetters.redriveMany(Array.from({ length: 1_001 }, String))],
    ['delayMs', (queue) => queue.reschedule('a', { delayMs: -1 })],
    // @ts-expect-error -- no number
    ['delayMs', (queue) => queue.reschedule('a', { delayMs: 'soon' })],
    ['runAt', (queue) => queue.reschedule('a', { runAt: new Date(Number.NaN) })],
    // @ts-expect-error -- no Date
    ['runAt', (queue) => queue.reschedule('a', { runAt: '2030-01-01' })],
    ['runAt', (queue) => queue.reschedule('a', { runAt: new Date(Date.now() + YEAR_MS + 60_000) })],
    ['reschedule', (queue) => queue.reschedule('a', { delayMs: 0, runAt: 5 })],
    ['reschedule', (queue) => queue.reschedule('a', {} as never)],
    ['reschedule', (queue) => queue.reschedule('a', null as never)],
    ['enqueueMany', (queue) => queue.enqueueMany('ab' as never)],
    ['enqueueMany[1]', (queue) => queue.enqueueMany([{ payload: 1 }, null] as never)],
    [
      'deadLetters.discardAll.newerThanMs',
      (queue) => queue.deadLetters.discardAll({ olderThanMs: 2, newerThanMs: 1 }),
    ],
    ['deadLetters.list.newerThanMs', (queue) => queue.deadLetters.list({ olderThanMs: 2, newerThanMs: 1 })],
    ['timeoutMs', (queue) => queue.result('a', { timeoutMs: -1 })],
    ['purge confirm', (queue) => queue.purge({ confirm: '' })],
  ])('%s', async (subject, call) => {
    const { queue } = coreQueue();
    await queue.enqueue(1, { id: 'a' });
    const error = await failure(() => call(queue));
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(error.subject).toBe(subject);
    expect(await queue.get('a')).toMatchObject({ status: 'pending', attempts: 0 });
  });

  // One that is misspelled must not count as not given: without a filter, all are meant.
  it.each<[string, (queue: JobQueue) => Promise<unknown>]>([
    ['deadLetters.redriveAll.filter', (queue) => queue.deadLetters.redriveAll({ filter: {} } as object)],
    ['deadLetters.discardAll.eror', (queue) => queue.deadLetters.discardAll({ eror: 'x' } as object)],
    ['deadLetters.discardAll', (queue) => queue.deadLetters.discardAll(null as never)],
    ['clean.olderThan', (queue) => queue.clean('failed', { olderThan: 3_600_000 } as object)],
    ['clean', (queue) => queue.clean('failed', 3_600_000 as never)],
    ['purge', (queue) => queue.purge(null as never)],
    ['list.limt', (queue) => queue.list('failed', { limt: 1 } as object)],
    ['schedules.list.limt', (queue) => queue.schedules.list({ limt: 1 } as object)],
    ['schedules.tick.limt', (queue) => queue.schedules.tick({ limt: 1 } as object)],
    ['reclaim.count', (queue) => queue.reclaim({ count: 1 } as object)],
    ['claim.timeout', (queue) => queue.claim({ timeout: 1 } as object)],
    ['result.timeout', (queue) => queue.result('a', { timeout: 1 } as object)],
    ['signal', (queue) => queue.result('a', { signal: 5 } as object)],
    ['awaitAll.timeout', () => awaitAll([], { timeout: 1 } as object)],
  ])('%s, which no option of the call is', async (subject, call) => {
    const { queue } = coreQueue();
    await queue.enqueue(1, { id: 'a' });
    await queue.fail((await queue.claim())!, new Error('no'), { final: true });
    const error = await failure(() => call(queue));
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(error.subject).toBe(subject);
    expect(await queue.get('a')).toMatchObject({ status: 'failed' });
  });

  it.each<[string, (queue: JobQueue, job: never) => Promise<unknown>]>([
    ['visibilityMs', (queue, job) => queue.extend(job, { visibilityMs: -1 })],
    ['visibilityMs', (queue, job) => queue.extend(job, { visibilityMs: Number.NaN })],
    ['delayMs', (queue, job) => queue.release(job, { delayMs: -1 })],
    // @ts-expect-error -- no number
    ['delayMs', (queue, job) => queue.fail(job, 'no', { delayMs: 'soon' })],
    ['delayMs', (queue, job) => queue.fail(job, 'no', { delayMs: Number.NaN })],
    ['fail.finl', (queue, job) => queue.fail(job, 'no', { finl: true } as object)],
    ['final', (queue, job) => queue.fail(job, 'no', { final: 'yes' } as object)],
    ['release.delay', (queue, job) => queue.release(job, { delay: 5 } as object)],
    [
      'job.options.resultTtlMs',
      (queue, job) => queue.complete({ ...(job as object), options: { resultTtlMs: 1.5 } } as never, 1),
    ],
    ['job.token', (queue, job) => queue.complete({ ...(job as object), token: '' } as never, 1)],
  ])('%s of a claimed job', async (subject, call) => {
    const { queue } = coreQueue();
    await queue.enqueue(1, { id: 'a' });
    const job = (await queue.claim())!;
    const error = await failure(() => call(queue, job as never));
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(error.subject).toBe(subject);
    expect(await queue.complete(job)).toBe(true);
  });

  it('a result that JSON cannot carry, and the claim stays', async () => {
    const { queue } = coreQueue();
    await queue.enqueue(1);
    const job = (await queue.claim())!;
    const error = await failure(() => queue.complete(job, { total: 5n }));
    expect(error).toBeInstanceOf(InvalidPayloadError);
    expect(error.message).toBe('result.total: expected a value that JSON can carry, found a BigInt (5n).');
    expect(await queue.complete(job, { total: '5' })).toBe(true);
  });

  it('a backoff function that returns nonsense, and the claim stays', async () => {
    const { queue } = coreQueue({ backoff: () => -5 });
    await queue.enqueue(1);
    const job = (await queue.claim())!;
    expect(await failure(() => queue.fail(job, 'no'))).toMatchObject({ subject: 'backoff function', found: '-5' });
    expect(await queue.fail(job, 'no', { delayMs: 0 })).toBe('retry');
  });

  it('a backoff function that answers more than a year', async () => {
    const { queue } = coreQueue({ backoff: () => 31_536_000_001 });
    await queue.enqueue(1);
    expect(await failure(async () => queue.fail((await queue.claim())!, 'no'))).toBeInstanceOf(InvalidOptionError);
  });
});

it('an unknown option of an enqueue is answered without the options of the library itself', async () => {
  const { queue } = coreQueue();
  const error = await failure(() => queue.enqueue(1, { colour: 'red' } as EnqueueOptions));
  expect(error.message).toContain('Known: name, id, delayMs');
  expect(error.message).not.toMatch(/batch/i);
});

it('a `unique` that is no object is answered with its form', async () => {
  const { queue } = coreQueue();
  const error = await failure(() => queue.enqueue(1, { unique: 'k' as never }));
  expect(error.message).toBe('enqueue.unique: expected { key, for, onConflict?, keep?, maxDelayMs? }, found "k".');
});
