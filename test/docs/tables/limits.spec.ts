// The table of sizes and limits in docs/options.md. Each stated number is accepted; the next one is refused with a
// typed error, or cut, as the table says.
import { describe, expect, it, jest } from '@jest/globals';
import type { z } from 'zod';
import { checkHandlerOptions } from '#worker/handlers/define-handler.js';
import { InvalidOptionError, InvalidPayloadError } from '#queue/errors/errors.js';
import { JobQueue } from '#queue/job-queue.js';
import { queueOptionFields, resolveQueueOptions } from '#queue/model/queue-options.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { expectUnchanged, type TestQueue } from '../../support/queue/queue-state.js';
import { connect } from '../../support/redis/redis.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';
import { tableOf } from '../table.js';
import { inside } from '../../support/queue/inside.js';

const DAY = 86_400_000;
const limits = new Map(tableOf('limits', 'docs/options.md').map(([thing, , said]) => [thing, said]));

/** Returns the numbers in the table's row of a thing. */
function stated(thing: string): number[] {
  return [...limits.get(thing)!.matchAll(/\d[\d,]*/g)].map(([digits]) => Number(digits.replaceAll(',', '')));
}

type Refusal = typeof InvalidOptionError | typeof InvalidPayloadError;

/**
 * Expects that the value at the limit is accepted. The next one is refused and leaves the queue's keys unchanged.
 */
async function bounded(
  state: TestQueue,
  at: () => unknown,
  beyond: () => unknown,
  refusal: Refusal = InvalidOptionError,
) {
  await (async () => at())();
  await expectUnchanged(state, async () => {
    const refused = await (async () => beyond())().catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(refusal);
  });
}

const text = (length: number) => 'x'.repeat(length);
const uniqueFor = (ms: number) => ({ unique: { key: 'k', for: { ms } } });
const many = (count: number, payload: string) => Array.from({ length: count }, () => ({ payload }));
const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth));

/** Expects that a text is accepted from the least to the most characters, and otherwise refused. */
async function boundedText(state: TestQueue, least: number, most: number, use: (text: string) => unknown) {
  for (const [at, beyond] of [
    [least, least - 1],
    [most, most + 1],
  ] as const) {
    await bounded(
      state,
      () => use(text(at)),
      () => use(text(beyond)),
    );
  }
}

/** Enqueues with one option at the limit and one beyond; both ends. */
async function boundedOption(option: string, least: number, most: number) {
  const { queue, state } = coreQueue();
  for (const [at, beyond] of [
    [least, least - 1],
    [most, most + 1],
  ]) {
    const [good, bad] = [{ [option]: at }, { [option]: beyond }];
    await bounded(
      state,
      () => queue.enqueue(1, good),
      () => queue.enqueue(2, bad),
    );
  }
  expect(await state.total('enqueued')).toBe(2);
}

/** Expects that a queue takes a number from the least to the most. */
function boundedOfQueue(option: string, least: number, most: number) {
  for (const good of [least, most]) {
    expect(resolveQueueOptions('a', { [option]: good })).toMatchObject({ [option]: good });
  }
  for (const bad of [least - 1, most + 1]) {
    expect(() => resolveQueueOptions('a', { [option]: bad })).toThrow(InvalidOptionError);
  }
}

const costing = (count: number, cost: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`limit-${i}`, cost]));
const entriesOf = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'ä']));
const refusedBackoff = (backoff: object) =>
  expect(() => resolveQueueOptions('a', { backoff: { type: 'fixed', delayMs: 9, ...backoff } as never })).toThrow(
    InvalidOptionError,
  );
const isNumber = (schema: z.ZodType) => [1_000, 100_000].some((number) => schema.safeParse(number).success);
const isDuration = (schema: z.ZodType) =>
  schema.safeParse(365 * DAY).success && !schema.safeParse(365 * DAY + 1).success;

const CASES: Record<string, (...numbers: number[]) => Promise<void>> = {
  'payload, result, progress': async (bytes, depth) => {
    const { queue, state } = coreQueue();
    const [fits, over] = [text(bytes - 2), text(bytes - 1)]; // with its quotes
    await bounded(
      state,
      () => queue.enqueue(fits),
      () => queue.enqueue(over),
      InvalidPayloadError,
    );
    await bounded(
      state,
      () => queue.enqueue(nested(depth)),
      () => queue.enqueue(nested(depth + 1)),
      InvalidPayloadError,
    );
    const [job] = await queue.claimMany(2);
    await expectUnchanged(state, () => expect(queue.complete(job!, over)).rejects.toThrow(InvalidPayloadError));
    expect(await queue.complete(job!, fits)).toBe(true);
    const progressing = newQueue();
    const { id } = await progressing.enqueue(1);
    const worker = await startWorker(progressing, async (run) => {
      await run.progress(fits);
      await expect(run.progress(over)).rejects.toThrow(InvalidPayloadError);
    });
    await worker.event('completed');
    expect((await progressing.get(id))!.progress).toBe(fits);
  },
  'job id': async (least, most) => {
    const { queue, state } = coreQueue();
    await boundedText(state, least, most, (of) => queue.enqueue(1, { id: of }));
    await bounded(
      state,
      () => queue.enqueue(1, { id: 'ada+é | {x} / "y"@example.com' }),
      () => queue.enqueue(1, { id: 'a\tb' }),
    );
    for (const start of ['@schedule:', '@batch:', '@batch-of:', '@failed:']) {
      await bounded(
        state,
        () => queue.enqueue(1, { id: `x${start}` }),
        () => queue.enqueue(1, { id: start }),
      );
    }
  },
  'batch id': async () => {
    const { queue, state } = coreQueue();
    const batch = (id: string) => queue.batch({ id, finally: { name: 'last' } }).seal();
    for (const end of ['open', 'members', 'outcomes', 'seen', 'early']) {
      await bounded(
        state,
        () => batch(`a${end}`),
        () => batch(`a/${end}`),
      );
    }
  },
  'queue name': async (least, most) => {
    const redis = connect();
    const { state } = coreQueue();
    await boundedText(state, least, most, (name) => new JobQueue(redis, name));
    await bounded(
      state,
      () => new JobQueue(redis, 'aZ09_.:@-/'),
      () => new JobQueue(redis, 'a{b}'),
    );
  },
  'job name': async (least, most) => {
    const { queue, state } = coreQueue();
    await boundedText(state, least, most, (of) => queue.enqueue(1, { name: of }));
  },
  'schedule id': async (least, most) => {
    const { queue, state } = coreQueue();
    await boundedText(state, least, most, (of) => queue.schedules.upsert(of, { everyMs: DAY }));
    expect(await queue.schedules.list()).toHaveLength(2);
  },
  'unique key': async (least, most) => {
    const { queue, state } = coreQueue();
    await boundedText(state, least, most, (of) => queue.enqueue(1, { unique: { key: of, for: 'pending' } }));
  },
  priority: (least, most) => boundedOption('priority', least, most),
  '`maxAttempts`, `maxCrashes`': async (least, most) => {
    await boundedOption('maxAttempts', least, most);
    await boundedOption('maxCrashes', least, most);
  },
  '`maxRateLimitRetries`, `maxSnoozes`': async (least, most) => {
    for (const n of [least, most]) {
      expect(resolveQueueOptions('a', { maxRateLimitRetries: n, maxSnoozes: n })).toMatchObject({
        maxRateLimitRetries: n,
        maxSnoozes: n,
      });
    }
    for (const n of [least - 1, most + 1]) {
      expect(() => resolveQueueOptions('a', { maxRateLimitRetries: n })).toThrow(InvalidOptionError);
      expect(() => resolveQueueOptions('a', { maxSnoozes: n })).toThrow(InvalidOptionError);
    }
  },
  '`slots`': async (least, most) => {
    await boundedOption('slots', least, most);
    for (const slots of [least, most, { most }, { default: least, most: least }]) {
      expect(checkHandlerOptions('handler', { slots })).toEqual({ slots });
    }
    for (const slots of [least - 1, most + 1, { most: most + 1 }, { default: least - 1, most }]) {
      expect(() => checkHandlerOptions('handler', { slots })).toThrow(InvalidOptionError);
    }
  },
  '`limitCosts`': async (least, most, mostLimits) => {
    const { queue } = coreQueue();
    for (const limitCosts of [costing(1, least), costing(mostLimits, most)]) {
      await queue.enqueue(1, { limitCosts });
    }
    for (const limitCosts of [costing(1, least - 1), costing(1, most + 1), costing(mostLimits + 1, 1)]) {
      await expect(queue.enqueue(1, { limitCosts })).rejects.toThrow(InvalidOptionError);
    }
  },
  '`cost`, `weight` of a group': async (least, most, mostWeight) => {
    await boundedOption('cost', least, most);
    for (const [weight, isGood] of [
      [mostWeight, true],
      [mostWeight + 1, false],
    ] as const) {
      const resolve = () => resolveQueueOptions('a', { groups: { weight } });
      expect(isGood ? resolve().groups : resolve).toEqual(isGood ? { weight } : expect.any(Function));
      if (!isGood) expect(resolve).toThrow(InvalidOptionError);
    }
  },
  '`metadata`': async (entries, least, longest, ...rest) => {
    const { queue, state } = coreQueue();
    const total = rest.at(-1)!;
    const add = (metadata: Record<string, string>) => queue.enqueue(1, { metadata });
    await bounded(
      state,
      () => add(entriesOf(entries)),
      () => add(entriesOf(entries + 1)),
    );
    await boundedText(state, least, longest, (key) => add({ [key]: '' }));
    await bounded(
      state,
      () => add({ 'aZ09_.:/@-': '日本' }),
      () => add({ ä: 'x' }),
    );
    await bounded(
      state,
      () => add({ k: text(total - 1) }),
      () => add({ k: text(total) }),
    );
  },
  '`rateLimit`': async (least, most, longest) => {
    const rate = { limit: 1, periodMs: 1, burst: 1 };
    for (const [field, end] of [
      ['limit', most],
      ['burst', most],
      ['periodMs', longest],
    ] as const) {
      for (const value of [least, end]) {
        resolveQueueOptions('a', { rateLimit: { ...rate, [field]: value } });
      }
      for (const value of [least - 1, end + 1]) {
        expect(() => resolveQueueOptions('a', { rateLimit: { ...rate, [field]: value } })).toThrow(
          InvalidOptionError,
        );
      }
    }
  },
  '`maxRunning`': async (least, most) => boundedOfQueue('maxRunning', least, most),
  '`maxPending`, `maxPendingBytes`': async (least, most, mostBytes) => {
    boundedOfQueue('maxPending', least, most);
    boundedOfQueue('maxPendingBytes', least, mostBytes);
  },
  '`completedHistory`, `failedHistory`, `cancelledHistory`': async (least, most) => {
    for (const option of ['completedHistory', 'failedHistory', 'cancelledHistory']) {
      boundedOfQueue(option, least, most);
    }
  },
  '`rememberedIds`': async (least, most) => boundedOfQueue('rememberedIds', least, most),
  '`deadLetterCap`': async (least, most) => boundedOfQueue('deadLetterCap', least, most),
  '`replicas`': async (least, most) => boundedOfQueue('replicas', least, most),
  '`maxPayloadBytes`': async (least, most) => boundedOfQueue('maxPayloadBytes', least, most),
  '`backoff`': async (none, all) => {
    resolveQueueOptions('a', { backoff: { type: 'fixed', delayMs: 9, maxDelayMs: 9, jitter: none } });
    resolveQueueOptions('a', { backoff: { type: 'fixed', delayMs: 9, jitter: all } });
    refusedBackoff({ maxDelayMs: 8 });
    refusedBackoff({ jitter: none - 0.1 });
    refusedBackoff({ jitter: all + 0.1 });
  },
  durations: async (days, least) => {
    const year = 365 * DAY;
    expect(resolveQueueOptions('a', { enqueueTimeoutMs: days * DAY })).toMatchObject({
      enqueueTimeoutMs: days * DAY,
    });
    expect(() => resolveQueueOptions('a', { enqueueTimeoutMs: (days + 1) * DAY })).toThrow(InvalidOptionError);
    boundedOfQueue('durabilityTimeoutMs', 1, DAY / 24);
    boundedOfQueue('unhandledAgeMs', 0, DAY);
    for (const option of ['visibilityMs', 'foreignVisibilityMs']) {
      boundedOfQueue(option, least, year);
    }
    for (const option of ['delayMs', 'expiresInMs', 'resultTtlMs']) {
      await boundedOption(option, option === 'delayMs' ? 0 : 1, year);
    }
    const { queue, state } = coreQueue();
    await bounded(
      state,
      () => queue.enqueue(1, { runAt: Date.now() + year }),
      () => queue.enqueue(1, { runAt: Date.now() + year + 60_000 }),
    );
    await bounded(
      state,
      () => queue.enqueue(1, uniqueFor(year)),
      () => queue.enqueue(1, uniqueFor(year + 1)),
    );
    await bounded(
      state,
      () => queue.enqueue(1, { backoff: year }),
      () => queue.enqueue(1, { backoff: year + 1 }),
    );
    await bounded(
      state,
      () => queue.enqueue(1, { timeoutMs: days * DAY }),
      () => queue.enqueue(1, { timeoutMs: (days + 1) * DAY }),
    );
  },
  instants: async () => {
    const { queue, state } = coreQueue();
    const seconds = Math.floor(Date.now() / 1_000);
    for (const wrong of [seconds, new Date(seconds)]) {
      await bounded(
        state,
        () => queue.enqueue(1, { runAt: Date.now() }),
        () => queue.enqueue(1, { runAt: wrong }),
      );
      await bounded(
        state,
        () => queue.schedules.upsert('s', { everyMs: 1_000, endAt: Date.now() + DAY }),
        () => queue.schedules.upsert('s', { everyMs: 1_000, endAt: wrong }),
      );
    }
  },
  'attempts kept': async (most) => {
    const { queue } = coreQueue({ maxAttempts: 1_000 });
    const { id } = await queue.enqueue(1);
    for (let i = 0; i <= most; i++) {
      await queue.fail((await queue.claim())!, new Error('no'));
    }
    const { attemptLog, attempts } = (await queue.get(id))!;
    expect(attemptLog.map(({ attempt }) => attempt)).toEqual(Array.from({ length: most }, (_, i) => i + 2));
    expect(attempts).toBe(most + 1);
  },
  log: async (lines, length) => {
    const queue = newQueue();
    const { id } = await queue.enqueue(1);
    const worker = await startWorker(queue, async (job) => {
      for (let i = 0; i <= lines; i++) {
        await job.log(`${i} `.padEnd(length + 1, 'x'));
      }
    });
    await worker.event('completed');
    const { log } = (await queue.get(id))!;
    expect(log).toHaveLength(lines);
    expect(log[0]!.message).toBe('1 '.padEnd(length, 'x'));
  },
  'error kept': async (message, stack) => {
    const { queue } = coreQueue();
    const { id } = await queue.enqueue(1, { maxAttempts: 2 });
    const error = Object.assign(new Error(text(message + 1)), { stack: text(stack + 1) });
    await queue.fail((await queue.claim())!, error);
    const kept = (await queue.get(id))!.attemptLog[0]!.error!;
    expect([kept.message, kept.stack]).toEqual([`${text(message)}…`, `${text(stack)}…`]);
    const whole = Object.assign(new Error(text(message)), { stack: text(stack) });
    await queue.fail((await queue.claim())!, whole);
    expect((await queue.get(id))!.attemptLog[1]!.error).toMatchObject({
      message: whole.message,
      stack: whole.stack,
    });
  },
  'one page of a list, one `claimMany`, ids of one `redrive`': async (most) => {
    const { queue, state } = coreQueue();
    const ids = Array.from({ length: most + 1 }, (_, i) => `job-${i}`);
    await bounded(
      state,
      () => queue.list('pending', { limit: most }),
      () => queue.list('pending', { limit: most + 1 }),
    );
    await bounded(
      state,
      () => queue.deadLetters.list({ limit: most }),
      () => queue.deadLetters.list({ limit: most + 1 }),
    );
    await bounded(
      state,
      () => queue.schedules.list({ limit: most }),
      () => queue.schedules.list({ limit: most + 1 }),
    );
    await bounded(
      state,
      () => queue.claimMany(most),
      () => queue.claimMany(most + 1),
    );
    await bounded(
      state,
      () => queue.deadLetters.redriveMany(ids.slice(1)),
      () => queue.deadLetters.redriveMany(ids),
    );
  },
  'one atomic step of an enqueue': async (jobs, megabytes) => {
    const { queue } = coreQueue();
    await queue.enqueue('warm');
    const run = jest.spyOn(inside(queue).runner, 'run');
    const sent = () => run.mock.calls.filter(([{ script }]) => script === 'jobEnqueue');
    await queue.enqueueMany(many(jobs, 'small'));
    expect(sent()).toHaveLength(1);
    await queue.enqueueMany(many(jobs + 1, 'small'));
    expect(sent()).toHaveLength(3);
    await queue.enqueueMany(many(10, text((megabytes * 1_000_000) / 5)));
    expect(sent()).toHaveLength(5);
  },
  'a repeated enqueue is recognised': async () => {
    const { queue } = coreQueue({ completedHistory: 10 });
    expect((await queue.enqueue(1, { id: 'a' })).outcome).toBe('new');
    await queue.complete((await queue.claim())!);
    expect((await queue.enqueue(1, { id: 'a' })).outcome).toBe('existing');
    await queue.remove('a');
    expect((await queue.enqueue(1, { id: 'a' })).outcome).toBe('new');
  },
};

describe('docs/options.md states the limit of', () => {
  it.each([...limits])('%s: %s', async (thing) => {
    expect(CASES).toHaveProperty([thing]);
    await CASES[thing]!(...stated(thing));
  });

  it('nothing else', () => {
    expect([...limits.keys()].toSorted()).toEqual(Object.keys(CASES).toSorted());
  });

  it('each number that a queue takes', () => {
    const rows = [...limits].flat().join(' ');
    const numbers = Object.entries<z.ZodType>(queueOptionFields).filter(
      ([, each]) => isNumber(each) && !isDuration(each),
    );
    expect(numbers.map(([name]) => name).filter((name) => !rows.includes(`\`${name}\``))).toEqual([]);
  });
});
