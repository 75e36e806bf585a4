// The option `redact` of a queue: its fields are in no log line of a worker. Stored values stay unchanged.
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineHandler, defineJob, InvalidOptionError, JobQueue, Worker, type Redact } from 'nest-job-queue/core';
import type { BulkHandler } from '#worker/handlers/handler.js';
import type { Job } from '#worker/handlers/job.js';
import { redactValue, TextRedaction } from '#queue/codec/redact.js';
import { jsonOf, ShownContent } from '#queue/store/shown-content.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startWorker } from '../../support/worker/workers.js';

const about = { part: 'payload' as const, job: { id: '1', name: 'pay', queue: 'pay' } };
const queueOf = (redact?: Redact) => new JobQueue(connect(), uniqueQueueName(), { redact });

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
      map: { iban: '[redacted]' },
      at: '1970-01-01T00:00:00.000Z',
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

describe('an error about a call', () => {
  it('does not quote a hidden payload passed in the wrong place', async () => {
    const queue = queueOf(() => '[hidden]');
    const enqueue = queue.enqueue.bind(queue) as (...wrong: unknown[]) => Promise<unknown>;
    const wrong = enqueue('DE02-1203', {}, {}).catch((error: Error) => error.message);
    expect(await wrong).toContain('the first "[hidden]"');
    expect(await wrong).not.toContain('1203');
  });

  it.each<[string, Redact, (iban: string) => unknown, string]>([
    ['a key from a hidden field', ['iban'], (iban) => new Map([[iban, 'done']]), 'an outcome for "[redacted]"'],
    ['a hidden result', () => '[hidden]', (iban) => iban, 'found "[hidden]"'],
    ['a result from a hidden field', ['iban'], (iban) => `${iban} is done`, 'found "[redacted] is done"'],
  ])('does not quote %s that a bulk handler returned', async (_what, redact, outcome, text) => {
    const queue = queueOf(redact);
    const jobs = await queue.enqueueMany(
      ['DE02-1203', 'DE02-1204'].map((iban) => ({ payload: { iban }, maxAttempts: 1 })),
    );
    const handler = {
      bulk: { size: 2, waitMs: 10_000 },
      handle: (called: Job<{ iban: string }>[]) => outcome(called[1]!.payload.iban),
    } as BulkHandler;
    await startWorker([{ queue, handlers: { [queue.name]: handler } }]);
    await expect(jobs[0]!.result({ timeoutMs: 10_000 })).rejects.toThrow(text);
    const { lastError } = (await jobs[0]!.get())!;
    expect(lastError).toContain(text);
    expect(lastError).not.toContain('1204');
  });
});

describe('the shown content', () => {
  it('hides redacted values in messages, and whole messages where the payload is unknown', async () => {
    const queue = new JobQueue(connect(), uniqueQueueName());
    await queue.enqueue({ iban: 'DE02-1203', card: 4111_1111, to: 'ada' }, { maxAttempts: 1 });
    const claimed = (await queue.claim())!;
    await queue.fail(claimed, new TypeError('DE02-1203 of ada, 41111111', { cause: new Error('"DE02-1203"') }));
    const job = (await queue.get(claimed.id))!;
    const shown = new ShownContent([['iban', 'card']]).record(job);
    expect(shown.payload).toEqual({
      is: 'whole',
      value: { iban: '[redacted]', card: '[redacted]', to: 'ada' },
    });
    expect(shown.lastError).toBe('[redacted] of ada, [redacted]');
    expect(shown.attemptLog[0]!.error).toMatchObject({ name: 'TypeError', cause: { message: '"[redacted]"' } });
    expect(JSON.stringify(shown)).not.toMatch(/DE02-1203|41111111/);
    const [listed] = await queue.list('failed', { mostBytes: 10 });
    expect(new ShownContent([['iban']]).record(listed!).lastError).toBe('[redacted]');
    expect(jsonOf(new ShownContent([]).record(job))).toEqual(job);
  });

  it('hides all of a failure job whose name was overwritten in Redis', async () => {
    const queue = new JobQueue(connect(), uniqueQueueName());
    const { id } = await queue.enqueue({ payload: '{"iban":"DE021203"}', error: 'no account DE021203' });
    const damaged = { ...(await queue.get(id))!, id: '@failed:a:1' };
    expect(JSON.stringify(new ShownContent([['iban']]).record(damaged))).not.toContain('DE021203');
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
  expect(lines.join()).not.toContain('DE02-1203');
});

it.each<[unknown]>([['iban'], [[1]], [['']], [['iban', 1]], [{}]])('refuses %j', (redact) => {
  expect(() => new JobQueue(connect(), 'a', { redact: redact as never })).toThrow(InvalidOptionError);
});

describe('an InvalidPayloadError quotes no hidden value', () => {
  const schema = z.object({
    iban: z.string().regex(/^DE/, { error: ({ input }) => `no IBAN: ${String(input)}` }),
    pin: z.number(),
  });
  const Pay = defineJob('pay', { payload: schema, result: z.object({ iban: z.string(), pin: z.number() }) });
  const bad = { iban: 'FR76-3000', pin: 1 };
  const hidden = 'payload.iban: expected what its schema allows, found [redacted].';

  it('of a producer: enqueue, enqueueMany, update, redrive, schedules', async () => {
    const queue = queueOf(['iban']);
    await expect(queue.enqueue(Pay, bad)).rejects.toThrow(hidden);
    await expect(queue.enqueueMany(Pay, [{ payload: bad }])).rejects.toThrow(`enqueueMany[0].${hidden}`);
    const { id } = await queue.enqueue({ iban: 'DE1', pin: 1 }, { name: 'pay', maxAttempts: 1 });
    await expect(queue.update(Pay, id, bad)).rejects.toThrow(hidden);
    await queue.fail((await queue.claim())!, new Error('no'));
    await expect(queue.deadLetters.redrive(Pay, id, { payload: bad })).rejects.toThrow(hidden);
    const upsert = queue.schedules.upsert('daily', { everyMs: 60_000 }, { definition: Pay, payload: bad });
    await expect(upsert).rejects.toThrow(`schedule "daily".${hidden}`);
  });

  it('by a function, in its own message, and in one of a short value', async () => {
    const text = z.object({
      iban: z.string(),
      pin: z.string().max(2, { error: ({ input }) => `${JSON.stringify(input)} is long` }),
    });
    const Short = defineJob('short', { payload: text.refine(() => false, { error: 'DE02-1203 is blocked' }) });
    const queue = queueOf((value) => ({ to: (value as { to?: string }).to }));
    const payload = { iban: 'DE02-1203', pin: '123' };
    await expect(queue.enqueue(Short, payload)).rejects.toThrow(
      'payload: expected what its schema allows, found [redacted].',
    );
    await expect(queueOf(['iban']).enqueue(Short, { ...payload, pin: '1' })).rejects.toThrow(
      '[redacted] is blocked',
    );
  });

  it('but shows those that may be seen', async () => {
    await expect(queueOf(['iban']).enqueue(Pay, { iban: 'DE1', pin: 'x' as never })).rejects.toThrow(
      'payload.pin: expected number, found "x".',
    );
    await expect(queueOf().enqueue(Pay, bad)).rejects.toThrow('(no IBAN: FR76-3000), found "FR76-3000".');
  });

  it('of a value that is no JSON, of a codec, or of an object that throws', async () => {
    const throwing = {
      toJSON() {
        throw new Error('no iban FR76');
      },
    };
    const codec = {
      name: 'picky',
      encode: () => {
        throw new Error('no iban FR76');
      },
      decode: (json: unknown) => json,
    };
    await expect(queueOf(['iban']).enqueue({ iban: 4111n })).rejects.toThrow('found a BigInt (hidden by redact).');
    await expect(queueOf(['iban']).enqueue({ iban: throwing })).rejects.toThrow(
      'found one that throws (hidden by redact).',
    );
    const coded = new JobQueue(connect(), uniqueQueueName(), { redact: ['iban'], codec });
    await expect(coded.enqueue({ iban: '' })).rejects.toThrow('found one that it refuses (hidden by redact).');
  });

  it('of a result, neither in the worker nor for the caller', async () => {
    const queue = queueOf(['iban']);
    const handle = defineHandler(Pay, () => ({ iban: 76_3000, pin: 1 }) as never);
    const { worker } = await startWorker([{ queue, handlers: { pay: handle } }]);
    const job = await queue.enqueue(Pay, { iban: 'DE1', pin: 1 }, { maxAttempts: 1 });
    await expect(job.result()).rejects.toThrow('result.iban: expected what its schema allows, found [redacted].');
    await worker.stop();
    const { id } = await queue.enqueue({}, { name: 'pay' });
    await queue.complete((await queue.claim())!, { iban: 76_3000 });
    await expect(queue.result(Pay, id)).rejects.toThrow(
      'result.iban: expected what its schema allows, found [redacted].',
    );
  });
});

it('a redaction of texts leaves other values as they are, at any depth', () => {
  const texts = new TextRedaction().know(['iban'], { iban: 'FR76-3000' }, about);
  const value = { none: null, missing: undefined, count: 5, isPaid: true, list: [null, 'of FR76-3000'] };
  expect(texts.value(value)).toEqual({ ...value, list: [null, 'of [redacted]'] });
  expect([null, undefined, 5].map((each) => texts.value(each))).toEqual([null, undefined, 5]);
});
