// The option `redact` of a queue: its fields are in no log line of a worker. Stored values stay unchanged.
import { describe, expect, it } from '@jest/globals';
import { InvalidOptionError, JobQueue, Worker } from 'nest-job-queue/core';
import { redactValue } from '#queue/codec/redact.js';
import { redactRecord } from '#queue/store/redact-record.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';

const about = { part: 'payload' as const, job: { id: '1', name: 'pay', queue: 'pay' } };

/** Quotes its payload in an error. */
const failing = ({ payload }: { payload: unknown }) => {
  throw new Error(`no such account: ${(payload as { iban: string }).iban}`);
};

describe('redactValue', () => {
  it('hides fields of a name at any depth, in maps and sets too, and changes nothing', () => {
    const value = { iban: 'DE1', rows: [{ IBAN: 'DE2', sum: 3 }], map: new Map([['iban', 1]]), at: new Date(0) };
    expect(redactValue(['iban'], value, about)).toEqual({
      iban: '[redacted]',
      rows: [{ IBAN: '[redacted]', sum: 3 }],
      map: new Map([['iban', '[redacted]']]),
      at: new Date(0),
    });
    expect(value.iban).toBe('DE1');
  });

  it('asks a function, and shows nothing where it throws', () => {
    expect(redactValue((value, { part, job }) => [value, part, job.name], 1, about)).toEqual([1, 'payload', 'pay']);
    expect(
      redactValue(
        () => {
          throw new Error('bad');
        },
        1,
        about,
      ),
    ).toBe('[redacted]');
  });
});

describe('redactRecord', () => {
  it('hides in messages what it hides of the payload, and all of them where the payload is not known', async () => {
    const queue = new JobQueue(connect(), uniqueQueueName());
    await queue.enqueue({ iban: 'DE02-1203', card: 4111_1111, to: 'ada' }, { maxAttempts: 1 });
    const claimed = (await queue.claim())!;
    await queue.fail(claimed, new TypeError('DE02-1203 of ada, 41111111', { cause: new Error('"DE02-1203"') }));
    const job = (await queue.get(claimed.id))!;
    const shown = redactRecord(['iban', 'card'], job);
    expect(shown.payload).toEqual({ iban: '[redacted]', card: '[redacted]', to: 'ada' });
    expect(shown.lastError).toBe('[redacted] of ada, [redacted]');
    expect(shown.attemptLog[0]!.error).toMatchObject({ name: 'TypeError', cause: { message: '"[redacted]"' } });
    expect(JSON.stringify(shown)).not.toContain('1203');
    const [listed] = await queue.list('failed', { mostBytes: 10 });
    expect(redactRecord(['iban'], listed!).lastError).toBe('[redacted]');
    expect(redactRecord(undefined, job)).toBe(job);
  });
});

it('the log of failures hides it, the handler and the store see it', async () => {
  const lines: string[] = [];
  const keep = (line: string) => void lines.push(line);
  const name = uniqueQueueName();
  const queue = new JobQueue(connect(), name, { redact: ['iban'] });
  const worker = new Worker([{ queue, handlers: { [name]: failing } }], {
    logger: { log: keep, warn: keep, error: keep },
  });
  await worker.start();
  const job = await queue.enqueue({ iban: 'DE02-1203' }, { maxAttempts: 2 });
  await expect(job.result()).rejects.toMatchObject({ reason: 'no such account: DE02-1203' });
  await worker.stop();
  expect(lines.filter((line) => line.includes('no such account: [redacted]'))).toHaveLength(2);
  expect(lines.join()).not.toContain('1203');
});

it.each<[unknown]>([['iban'], [[1]], [['']], [{}]])('refuses %j', (redact) => {
  expect(() => new JobQueue(connect(), 'a', { redact: redact as never })).toThrow(InvalidOptionError);
});
