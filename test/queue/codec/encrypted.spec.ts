// encrypted(): no content of a job is on the server in the clear. Keys change while jobs wait, and faults are reported.
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import {
  CodecError,
  encrypted,
  InvalidOptionError,
  JobQueue,
  Worker,
  type Job,
  type JobCodec,
} from 'nest-job-queue/core';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { KEY, refusal, WRONG_FOR_KEYS } from '../../support/queue/wrong-keys.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { eventually } from '../../support/faults/wait.js';

const [june, july] = ['2030-06', '2030-07'].map((id) => ({ id, key: randomBytes(32) })) as [
  { id: string; key: Buffer },
  { id: string; key: Buffer },
];

/** Starts a worker on a queue; the returned function stops it. */
async function work(queue: JobQueue, handle: (job: Job) => unknown): Promise<() => Promise<void>> {
  const logger = { log: () => undefined, warn: () => undefined, error: () => undefined };
  const worker = new Worker([{ queue, handlers: { [queue.name]: handle } }], { logger, sweepIntervalMs: 0 });
  await worker.start();
  return () => worker.stop();
}

/** Returns the kinds of dead letters with these errors. */
async function kindsOf(codec: JobCodec | undefined, ...messages: string[]): Promise<string[]> {
  const queue = new JobQueue(connect(), uniqueQueueName('kinds'), codec && { codec });
  const stop = await work(queue, ({ payload }) => {
    throw new TypeError((payload as { text: string }).text);
  });
  await Promise.allSettled(
    messages.map(async (message) => (await queue.enqueue({ text: message }, { maxAttempts: 1 })).result()),
  );
  await stop();
  return (await queue.deadLetters.kinds()).map(({ kind }) => kind);
}

describe('a queue with encrypted()', () => {
  it('shows MONITOR nothing of payload, result, progress, log, error and schedule, over a whole life', async () => {
    const redis = await startOwnRedis();
    const client = connect({}, redis.url);
    const monitor = await connect({}, redis.url).monitor();
    const seen: string[] = [];
    monitor.on('monitor', (_time: string, args: string[]) => seen.push(args.join(' ')));
    const queue = new JobQueue(client, 'letters', { codec: encrypted([june]), backoff: 1 });
    const stop = await work(queue, async (job) => {
      await job.progress({ step: 'SECRET progress' });
      await job.log('SECRET line');
      if (job.attempt === 1) {
        throw new TypeError('SECRET error', { cause: new Error('SECRET cause') });
      }
      return { text: 'SECRET result', of: job.payload };
    });
    const metadata = { tenant: 'readable' };
    const job = await queue.enqueue({ to: 'SECRET payload' }, { metadata, id: 'readable-id' });
    expect(await job.result()).toEqual({ text: 'SECRET result', of: { to: 'SECRET payload' } });
    const failed = await queue.enqueue({ to: 'SECRET too' }, { maxAttempts: 1 });
    await expect(failed.result()).rejects.toMatchObject({ reason: 'SECRET error', errorName: 'TypeError' });
    await queue.deadLetters.redrive(failed.id, { payload: 'SECRET edit' });
    await queue.schedules.upsert('nightly', { cron: '0 3 * * *' }, { payload: 'SECRET schedule' });
    expect((await queue.schedules.get('nightly'))!.payload).toBe('SECRET schedule');
    expect(await queue.schedules.upsert('nightly', { cron: '0 3 * * *' }, { payload: 'SECRET schedule' })).toBe(
      'unchanged',
    );
    const record = (await job.get())!;
    expect(record).toMatchObject({
      payload: { to: 'SECRET payload' },
      metadata,
      progress: { step: 'SECRET progress' },
    });
    expect(record.log.map(({ message }) => message)).toEqual(['SECRET line', 'SECRET line']);
    expect(record.attemptLog[0]!.error).toMatchObject({
      name: 'TypeError',
      message: 'SECRET error',
      cause: { message: 'SECRET cause' },
    });
    await stop();
    const echo = await client.echo('end of the life');
    while (!seen.some((line) => line.includes(echo))) await new Promise((resolve) => setImmediate(resolve));
    expect(seen.some((line) => line.includes('readable-id') && line.includes('readable'))).toBe(true);
    expect(seen.filter((line) => /SECRET/i.test(line))).toEqual([]);
    monitor.disconnect();
  });

  it('keeps kinds of errors that confirm no guess of their text without the key', async () => {
    const guesses = await kindsOf(undefined, 'no account of ada');
    const kinds = await kindsOf(encrypted([june]), 'no account of ada', 'no account of ada', 'no account of bob');
    expect(kinds).toHaveLength(2);
    expect(kinds).not.toContain(guesses[0]);
    expect(await kindsOf(encrypted([june, july]), 'no account of ada')).toEqual([kinds[0]]);
    expect(await kindsOf(encrypted([july]), 'no account of ada')).not.toEqual([kinds[0]]);
    const own: JobCodec = {
      name: 'own',
      secret: true,
      encode: (value) => Buffer.from(JSON.stringify(value)).toString('hex'),
      decode: (text) => JSON.parse(Buffer.from(String(text), 'hex').toString()) as unknown,
    };
    expect(await kindsOf(own, 'no account of ada', 'no account of bob')).toHaveLength(1);
  });

  it('reads jobs of an older key, and writes by the newest', async () => {
    const name = uniqueQueueName();
    const older = new JobQueue(connect(), name, { codec: encrypted([june]) });
    const newer = new JobQueue(connect(), name, { codec: encrypted([july, june]) });
    const waiting = await older.enqueue('of june');
    const claimed = (await newer.claim())!;
    expect(claimed.payload).toBe('of june');
    await newer.complete(claimed, 'by july');
    expect(await newer.result(waiting.id)).toBe('by july');
    await expect(older.result(waiting.id)).rejects.toBeInstanceOf(CodecError);
  });

  it('reads jobs of before it had a codec', async () => {
    const name = uniqueQueueName();
    await new JobQueue(connect(), name).enqueue({ plain: true });
    const claimed = await new JobQueue(connect(), name, { codec: encrypted([june]) }).claim();
    expect(claimed!.payload).toEqual({ plain: true });
  });

  it('warns once of a job in the clear, and never of its own ticks and failure jobs', async () => {
    const redis = await startOwnRedis();
    const lines: string[] = [];
    const keep = (line: string) => void lines.push(line);
    const queue = new JobQueue(connect({}, redis.url), 'letters', { codec: encrypted([june]) });
    const failures: unknown[] = [];
    const worker = new Worker(
      [
        {
          queue,
          handlers: {
            letters: ({ payload }: Job) => {
              if (payload === 'bad') throw new Error('no');
            },
          },
          onFailed: { letters: (job: Job) => void failures.push(job.payload) },
          schedules: {},
        },
      ],
      { logger: { log: keep, warn: keep, error: keep } },
    );
    await worker.start();
    await queue.schedules.upsert('often', { everyMs: 100 }, { payload: 'tick' });
    await (await queue.enqueue('good')).result();
    await (await queue.enqueue(null)).result();
    await expect((await queue.producer.one(undefined, 'bad', { maxAttempts: 1 })).result()).rejects.toThrow();
    await eventually(() => failures.length > 0);
    await queue.schedules.remove('often');
    expect(lines.filter((line) => line.includes('in the clear'))).toEqual([]);
    const plain = new JobQueue(connect({}, redis.url), 'letters');
    const open = await plain.enqueue({ to: 'anybody' });
    await open.result();
    await (await plain.enqueue({ to: 'anybody' })).result();
    expect(lines.filter((line) => line.includes('in the clear'))).toEqual([
      expect.stringContaining(`Queue "letters" is encrypted, but job "${open.id}" was stored in the clear`),
    ]);
    await worker.stop();
  });

  it('makes a dead letter of a job that it cannot read, with the reason, that a redrive brings back', async () => {
    const name = uniqueQueueName();
    const ours = new JobQueue(connect(), name, { codec: encrypted([june]) });
    const job = await ours.enqueue('letter');
    for (const [codec, reason] of [
      [encrypted([july]), `Encrypted by the key "2030-06"; this process has 2030-07.`],
      [undefined, 'Stored by the codec "encrypted", but the queue has no codec in this process.'],
    ] as const) {
      const other = new JobQueue(connect(), name, { codec });
      const stop = await work(other, () => 'never');
      await expect(ours.result(job.id)).rejects.toMatchObject({ reason, errorName: 'CodecError' });
      await stop();
      await ours.deadLetters.redrive(job.id);
    }
    expect((await ours.claim())!.payload).toBe('letter');
  });

  it('refuses a changed text', async () => {
    const client = connect();
    const name = uniqueQueueName();
    const queue = new JobQueue(client, name, { codec: encrypted([june]) });
    const job = await queue.enqueue('letter');
    const key = `queue:${name}:job:${job.id}`;
    const stored = JSON.parse((await client.hget(key, 'payload'))!) as { $codec: string; value: string };
    const flipped = stored.value.slice(0, -2) + (stored.value.endsWith('AA') ? 'BB' : 'AA');
    await client.hset(key, 'payload', JSON.stringify({ ...stored, value: flipped }));
    const stop = await work(queue, () => 'never');
    await expect(job.result()).rejects.toMatchObject({
      errorName: 'CodecError',
      reason: expect.stringContaining('cannot read'),
    });
    await stop();
  });

  it('wraps another codec', async () => {
    const bigints: JobCodec = {
      name: 'bigints',
      encode: (value) => ({ digits: String(value) }),
      decode: (json) => BigInt((json as { digits: string }).digits),
    };
    const queue = new JobQueue(connect(), uniqueQueueName(), { codec: encrypted([june], { codec: bigints }) });
    await queue.enqueue(10n ** 20n);
    expect((await queue.claim())!.payload).toBe(10n ** 20n);
  });
});

it('takes a random key whose last bytes are its first by chance', () => {
  const key = Buffer.alloc(32, june.key.subarray(0, 30));
  expect(encrypted([{ id: 'a', key }]).keyIds).toEqual(['a']);
});

describe('encrypted refuses', () => {
  it.each<[string, unknown, string]>([
    ['no list', june, 'encrypted: expected a list of at least one { id, key }, found a value of the type object.'],
    ['no key', [], 'encrypted: expected a list of at least one { id, key }, found an array of 0.'],
    [
      'a bad id',
      [{ id: 'a.b', key: june.key }],
      'encrypted[0].id: expected 1 to 64 of A-Z a-z 0-9 _ -, each once, found text of 3 characters.',
    ],
    ['an id twice', [june, june], 'encrypted[1].id: expected 1 to 64'],
    [
      'a short key',
      [{ id: 'a', key: 'AAAA' }],
      'encrypted[0].key: expected 32 bytes, or their base64, found 3 bytes.',
    ],
    ['no key in it', [{ id: 'a' }], 'encrypted[0].key: expected 32 bytes, or their base64, found none.'],
    [
      'zeros',
      [{ id: 'a', key: Buffer.alloc(32) }],
      'encrypted[0].key: expected 32 random bytes, found bytes that repeat.',
    ],
    ['a repeated word', [{ id: 'a', key: Buffer.from('changeit'.repeat(4)) }], 'found bytes that repeat.'],
    [
      'a repeated half',
      [{ id: 'a', key: Buffer.concat([june.key.subarray(16), june.key.subarray(16)]) }],
      'found bytes that repeat.',
    ],
    [
      'a repeated pattern of 12 bytes',
      [{ id: 'a', key: Buffer.alloc(32, june.key.subarray(0, 12)) }],
      'found bytes that repeat.',
    ],
    [
      'a repeated pattern of 15 bytes',
      [{ id: 'a', key: Buffer.alloc(32, june.key.subarray(0, 15)) }],
      'found bytes that repeat.',
    ],
    [
      'a repeated pattern of 24 bytes',
      [{ id: 'a', key: Buffer.alloc(32, june.key.subarray(0, 24)) }],
      'found bytes that repeat.',
    ],
    [
      'a key in base64 of zeros',
      [{ id: 'a', key: Buffer.alloc(32).toString('base64') }],
      'found bytes that repeat.',
    ],
    [
      'id and key swapped',
      [{ id: june.key.toString('base64url'), key: 'a' }],
      "encrypted[0].id: expected the name of a key, found what may be the key itself. Are id and key in each other's place?",
    ],
  ])('%s', async (_, keys, message) => {
    const { error } = await refusal(() => encrypted(keys as never));
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect((error as Error).message).toContain(message);
  });

  it.each(Object.entries(WRONG_FOR_KEYS))('%s in each place, and never quotes a key', async (_, value) => {
    const places: (() => unknown)[] = [
      () => encrypted(value as never),
      () => encrypted([value] as never),
      () => encrypted([{ id: value, key: june.key }] as never),
      () => encrypted([{ id: value, key: value }] as never),
      () => encrypted([{ id: KEY, key: '2030-07' }]),
      () => encrypted([june], value as never),
      () => encrypted([june], { codec: value as never }),
    ];
    for (const place of places) {
      const { said } = await refusal(place);
      expect(said).not.toContain(KEY.slice(0, 20));
    }
  });
});
