import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { InvalidOptionError, JobFailedError, NonRetryableError } from '#queue/errors/errors.js';
import { describeError, serializeError } from '#queue/errors/stored-error.js';
import { oneLine } from '#queue/errors/show.js';
import { SafeLogger } from '#queue/errors/safe-logger.js';
import { checkRecurrence } from '#queue/schedules/recurrence.js';

const HOSTILE = `a\r\n[Nest] 1 - ERROR forged\x1b[2J\u202e\u2028b${'x'.repeat(100_000)}the end`;

describe('a text as one line', () => {
  it.each([
    ['a\nb\r\tc', 'a\\nb\\r\\tc'],
    ['\x1b[2J\u009b\0', '\\x1b[2J\\x9b\\x00'],
    ['\u202e\u2028\ud800', '\\u202e\\u2028\\ud800'],
    ['日本語 😀 "quoted"', '日本語 😀 "quoted"'],
  ])('%j is shown as %j', (text, shown) => {
    expect(oneLine(text)).toBe(shown);
  });

  it('keeps the beginning and the end of one that is too long', () => {
    expect(oneLine(`first${'x'.repeat(100_000)}last`, 20)).toBe(
      `firstxxxxxxxxxx… (99989 characters left out) …xlast`,
    );
  });
});

describe('an error of this package', () => {
  it.each([
    ['of an option', new InvalidOptionError(HOSTILE, HOSTILE, HOSTILE, HOSTILE)],
    ['of a failed job', new JobFailedError(HOSTILE, HOSTILE, 1, HOSTILE)],
  ])('%s is one bounded line', (_, { message }) => {
    expect(message).not.toMatch(/[\p{Cc}\u2028]/u);
    expect(message.length).toBeLessThan(2_300);
  });

  it('of an option shows its hint only if it has one', () => {
    const [bare, helped] = [
      new InvalidOptionError('a', 'b', 'c'),
      new InvalidOptionError('a', 'b', 'c', 'Leave it out.'),
    ];
    expect(bare.hint).toBe('');
    expect(inspect(bare)).toContain("found: 'c'");
    expect(inspect(bare)).not.toContain('hint');
    expect(inspect(helped)).toContain("hint: 'Leave it out.'");
  });

  it('of a bad cron expression is short, however long the expression is', () => {
    const cron = `${'1,'.repeat(30_000)}x * * * *`;
    expect(() => checkRecurrence('schedule', { cron })).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^.{50,700}$/) }),
    );
  });

  it('that a handler throws keeps the words of the handler', () => {
    expect(new NonRetryableError('line\nline').message).toBe('line\nline');
  });
});

describe('an error as it is stored', () => {
  it('has its causes, as deep as five, and those of a cycle end', () => {
    const first = new Error('first', { cause: new TypeError('second', { cause: 'third' }) });
    expect(serializeError(first)).toMatchObject({
      message: 'first',
      cause: { name: 'TypeError', message: 'second', cause: { name: 'Error', message: 'third' } },
    });
    const cyclic = new Error('again');
    cyclic.cause = cyclic;
    expect(JSON.stringify(serializeError(cyclic)).length).toBeLessThan(20_000);
  });

  it('has the errors of an AggregateError, at most ten', () => {
    const errors = Array.from({ length: 12 }, (_, i) => new Error(`no ${i}`));
    const stored = serializeError(new AggregateError(errors, 'none of them'));
    expect(stored).toMatchObject({ name: 'AggregateError', message: 'none of them' });
    expect(stored.errors!.map(({ message }) => message)).toEqual([
      ...errors.slice(0, 10).map(({ message }) => message),
      'and 2 more',
    ]);
  });

  it('is bounded, however many and large the errors behind it are', () => {
    const wide = (depth: number): Error =>
      depth === 0
        ? new Error('x'.repeat(100_000))
        : new AggregateError(Array.from({ length: 10 }, () => wide(depth - 1)));
    expect(JSON.stringify(serializeError(wide(4))).length).toBeLessThan(40_000);
  });

  it('is kept where its cause cannot be read', () => {
    const error = new Error('kept');
    error.cause = Object.defineProperty(new Error('x'), 'message', { get: () => raise() });
    expect(serializeError(error)).toMatchObject({
      message: 'kept',
      cause: { message: 'an error that cannot be read' },
    });
    Object.defineProperty(error, 'cause', { get: () => raise() });
    expect(serializeError(error)).toMatchObject({ message: 'kept' });
  });
});

it('an error as a log shows it has its stack, its causes and the errors of an AggregateError, each message on one line', () => {
  const error = new AggregateError([new RangeError('a\nb')], 'outer\nforged', { cause: new Error('why') });
  const lines = describeError(error).split('\n');
  expect(lines[0]).toBe('AggregateError: outer\\nforged');
  expect(lines[1]).toMatch(/^ {4}at /);
  expect(lines).toContain('  [cause] Error: why');
  expect(lines).toContain('  [error 1] RangeError: a\\nb');
  expect(lines.every((line) => /^(AggregateError|\s+(at |\[))/.test(line))).toBe(true);
});

describe('a logger', () => {
  it('that throws, or rejects, has no other effect', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    try {
      const logger = SafeLogger.of({
        log: raise,
        warn: () => Promise.reject(new Error('no log')),
        error: raise,
      });
      logger.log('a');
      logger.warn('b', new Error('c'));
      logger.error('d', undefined);
      await new Promise(setImmediate);
      expect(unhandled).toEqual([]);
    } finally {
      process.off('unhandledRejection', note);
    }
  });

  it('gets each message as one bounded line', () => {
    const lines: string[] = [];
    const note = (line: string) => void lines.push(line);
    const logger = SafeLogger.of({ log: note, warn: note, error: note });
    logger.warn(HOSTILE);
    logger.error('it failed', undefined);
    expect(lines[0]).not.toMatch(/[\p{Cc}\u2028]/u);
    expect(lines[0]!.length).toBeLessThan(2_300);
    expect(lines[0]).toMatch(/the end$/);
    expect(lines[1]).toBe('it failed: Error: undefined');
    expect(SafeLogger.of(logger)).toBe(logger);
  });
});

function raise(): never {
  throw new Error('no');
}
