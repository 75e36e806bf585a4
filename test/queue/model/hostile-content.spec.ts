import { describe, expect, it } from '@jest/globals';
import fc from '../../support/queue/properties.js';
import { InvalidOptionError, InvalidPayloadError } from '#queue/errors/errors.js';
import { QueueKeys } from '#queue/scripts/queue-keys.js';
import { checkJobId, checkJobName, checkQueueName } from '#queue/validation/names.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { keysLike } from '../../support/redis/redis-reads.js';
import { inside } from '../../support/queue/inside.js';
import { sealed } from '../../support/queue/unsealed.js';
import { casesOf } from '../../support/run/samples.js';

const HOSTILE = [
  '__proto__',
  'constructor',
  'a\0b',
  'line\r\nbreak',
  '*1\r\n$8\r\nFLUSHALL\r\n',
  '$-1\r\n',
  '"]] redis.call("FLUSHALL") --[[',
  '*?[a-z]',
  '{tag}',
  '\x1b[2J\x1b]0;owned\x07',
  '\u009b31m',
  '\u202egnp.exe',
  '%s%n\\u0000',
  '日本語 😀',
];

/** The size of a text above the default limit of a payload. */
const MB = casesOf(10, 3);

function refusal<Kind extends Error>(kind: new (...args: never[]) => Kind, action: () => unknown): Kind {
  try {
    action();
  } catch (error) {
    expect(error).toBeInstanceOf(kind);
    return error as Kind;
  }
  throw new Error('it was not refused');
}

describe('hostile text is data', () => {
  it.each(HOSTILE)('as unique key: %j', async (key) => {
    const { queue, state } = coreQueue();
    const unique = { key, for: 'unfinished' } as const;
    const { id } = await queue.enqueue(1, { unique });
    expect(await queue.enqueue(2, { unique })).toMatchObject({ id, outcome: 'kept' });
    expect(await queue.enqueue(2, { unique: { ...unique, key: `${key}2` } })).toMatchObject({ outcome: 'new' });
    await queue.complete((await queue.claim())!);
    expect(await state.redis.hkeys(state.keys.unique)).toEqual([`${key}2`]);
  });

  it.each(HOSTILE)('as name of a worker, in the record of what it lost: %j', async (worker) => {
    const { queue, state } = coreQueue({ maxCrashes: 1 });
    const { id } = await queue.enqueue(1);
    expect(await queue.claim({ worker })).toMatchObject({ id });
    await state.expireClaims(id);
    await queue.reclaim();
    const record = (await queue.get(id))!;
    expect(record).toMatchObject({ status: 'failed', worker });
    expect(record.attemptLog[0]).toMatchObject({ worker, outcome: 'crash' });
    expect(record.lastError).toContain(worker);
    expect(await state.redis.hgetall(state.keys.job(id))).toMatchObject({ worker });
  });

  it.each(HOSTILE)('as filter of dead letters: %j', async (text) => {
    const { queue } = coreQueue({ maxAttempts: 1 });
    for (const message of [`before ${text} after`, 'another']) {
      const { id } = await queue.enqueue(1, { name: text });
      const job = (await queue.claim())!;
      expect(job).toMatchObject({ id, name: text });
      await queue.fail(job, new Error(message));
    }
    const { jobs } = await queue.deadLetters.list({ error: text, name: text });
    expect(jobs.map((job) => job.lastError)).toEqual([`before ${text} after`]);
  });

  it.each(HOSTILE)('as progress and log line: %j', async (text) => {
    const { queue } = coreQueue();
    await queue.enqueue(1);
    const job = (await queue.claim())!;
    const scripts = await inside(queue).scripts();
    await inside(queue).runner.run(
      scripts.progress({ claim: job, progress: sealed(JSON.stringify({ [text]: text })) }),
    );
    await inside(queue).runner.run(scripts.log({ claim: job, keep: 10, lines: [sealed(JSON.stringify(text))] }));
    const record = (await queue.get(job.id))!;
    expect(JSON.stringify(record.progress)).toBe(JSON.stringify({ [text]: text }));
    expect(record.log.map(({ message }) => message)).toEqual([text]);
  });

  it.each(HOSTILE)('as id that is looked up, cancelled and removed: %j', async (id) => {
    const { queue, state } = coreQueue();
    await queue.enqueue(1, { id: 'other' });
    expect(await queue.get(id)).toBeNull();
    expect(await queue.cancel(id)).toBe('missing');
    expect(await queue.remove(id)).toBe('missing');
    expect(await queue.reschedule(id, { delayMs: 5 })).toBe('missing');
    expect(await queue.deadLetters.redriveMany([id])).toBe(0);
    expect(await state.pending()).toEqual(['other']);
  });

  it(`of ${MB} MB makes the round trip where the queue allows it`, async () => {
    const { queue } = coreQueue({ maxPayloadBytes: 32_000_000 });
    const text = '\u001b"\\é😀x\r\n'.repeat(50_000 * MB);
    const { id } = await queue.enqueue({ text });
    const job = (await queue.claim())!;
    expect((job.payload as { text: string }).text === text).toBe(true);
    await queue.complete(job, text);
    expect((await queue.result(id)) === text).toBe(true);
  });

  it('in an error whose halves of characters Redis cannot keep is kept with a mark in their place', async () => {
    const { queue } = coreQueue({ maxAttempts: 1 });
    const { id } = await queue.enqueue(1);
    await queue.fail((await queue.claim())!, new Error(`\uD800 ${'x'.repeat(1_997)}😀`));
    const { lastError, attemptLog } = (await queue.get(id))!;
    expect(lastError).toBe(`\uFFFD ${'x'.repeat(1_997)}…`);
    expect(attemptLog[0]!.error!.message).toBe(lastError);
  });
});

describe('a value that cannot be stored unchanged is refused by type, and nothing is written', () => {
  it.each<[string, Parameters<ReturnType<typeof coreQueue>['queue']['enqueue']>]>([
    ['an id with a line break', [1, { id: 'a\r\n' }]],
    ['an id with half a character', [1, { id: 'a\uD800' }]],
    ['an id of 129 characters', [1, { id: 'x'.repeat(129) }]],
    ['an id of 10 MB', [1, { id: 'x'.repeat(10_000_000) }]],
    ['half a character as name', [1, { name: '\uD800' }]],
    ['a name of 257 characters', [1, { name: 'x'.repeat(257) }]],
    ['half a character as unique key', [1, { unique: { key: 'a\uDC00', for: 'pending' } }]],
    ['a unique key of 513 characters', [1, { unique: { key: 'x'.repeat(513), for: 'pending' } }]],
    ['an option whose name has 10 MB', [1, { ['x'.repeat(10_000_000)]: 1 }]],
    ['a payload of 10 MB', ['x'.repeat(10_000_000)]],
    ['a nesting of 10,000', [JSON.parse('['.repeat(10_000) + ']'.repeat(10_000))]],
    ['a key of 10 MB with a fault', [{ [`\x1b${'x'.repeat(10_000_000)}`]: NaN }]],
  ])('%s', async (_what, args) => {
    const { queue, state } = coreQueue();
    const error = (await queue.enqueue(...args).catch((thrown: unknown) => thrown)) as Error;
    expect([InvalidOptionError, InvalidPayloadError]).toContain(error.constructor);
    expect(error.message.length).toBeLessThan(1_000);
    expect(error.message).not.toMatch(/[^\P{Cc}\n\t]/u);
    expect(await keysLike(state.redis, `*${queue.name}*`)).toEqual([]);
  });

  it('an id, a name or a queue name is either refused or makes the round trip through its key', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom(...HOSTILE),
    );
    const keys = new QueueKeys('q');
    fc.assert(
      fc.property(text, (each) => {
        const rules: [(text: unknown) => void, RegExp][] = [
          [checkJobId, /^[^\p{Cc}\p{Surrogate}]*$/u],
          [checkQueueName, /^[\w.:@/-]*$/],
        ];
        for (const [check, rule] of rules) {
          if (rule.test(each) && each.length > 0 && each.length <= 128) {
            expect(() => check(each)).not.toThrow();
            expect(keys.job(each).slice(keys.jobPrefix.length)).toBe(each);
            expect(Buffer.from(each, 'utf8').toString('utf8')).toBe(each);
          } else {
            expect(refusal(InvalidOptionError, () => check(each)).message).not.toMatch(/[^\P{Cc}\n\t]/u);
          }
        }
        try {
          checkJobName(each);
          expect(Buffer.from(each, 'utf8').toString('utf8')).toBe(each);
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidOptionError);
        }
      }),
      { numRuns: casesOf(500, 100) },
    );
  });
});
