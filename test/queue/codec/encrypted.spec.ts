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

describe('encrypted refuses', () => {
  it.each<[string, unknown, string]>([
    ['no list', june, 'encrypted: expected a list of at least one { id, key }'],
    ['no key', [], 'encrypted: expected a list of at least one { id, key }'],
    [
      'a bad id',
      [{ id: 'a.b', key: june.key }],
      'encrypted[0].id: expected 1 to 64 of A-Z a-z 0-9 _ -, each once, found "a.b".',
    ],
    ['an id twice', [june, june], 'encrypted[1].id: expected 1 to 64'],
    [
      'a short key',
      [{ id: 'a', key: 'SECRET' }],
      'encrypted[0].key: expected 32 bytes, or their base64, found 4 bytes.',
    ],
  ])('%s', (_, keys, message) => {
    const error = (() => {
      try {
        return encrypted(keys as never);
      } catch (thrown) {
        return thrown as Error;
      }
    })();
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect((error as Error).message).toContain(message);
    expect((error as Error).message).not.toContain('SECRET');
  });
});
