// A codec of a queue: values that JSON cannot carry, in payloads, results, progress and schedules.
import { describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'devalue';
import superjson from 'superjson';
import { z } from 'zod';
import { defineJob, JobQueue, Worker, type JobCodec } from 'nest-job-queue/core';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';

const bySuperjson: JobCodec = {
  name: 'superjson',
  encode: (value) => superjson.serialize(value),
  decode: (json) => superjson.deserialize(json as ReturnType<typeof superjson.serialize>),
};

const byDevalue: JobCodec = {
  name: 'devalue',
  encode: (value) => stringify(value),
  decode: (text) => parse(String(text)) as unknown,
};

const VALUE = { at: new Date(0), seen: new Map([['ada', 1n]]), tags: new Set(['a']) };

describe.each([bySuperjson, byDevalue])('the codec $name', (codec) => {
  it('carries dates, maps and sets to the handler and back', async () => {
    const queue = new JobQueue(connect(), uniqueQueueName(), { codec });
    const worker = new Worker(
      [
        {
          queue,
          handlers: {
            [queue.name]: async (job) => {
              await job.progress(job.payload);
              await job.checkpoint(job.payload);
              return job.payload;
            },
          },
        },
      ],
      { sweepIntervalMs: 0 },
    );
    await worker.start();
    const job = await queue.enqueue(VALUE);
    expect(await job.result()).toEqual(VALUE);
    expect(await job.get()).toMatchObject({ payload: VALUE, progress: VALUE, checkpoint: VALUE });
    await worker.stop();
  });

  it('shows its values in each list of jobs, in dead letters, and in schedules', async () => {
    const queue = new JobQueue(connect(), uniqueQueueName(), { codec, maxAttempts: 1 });
    await queue.enqueue(VALUE, { id: 'dead' });
    await queue.fail((await queue.claim())!, new Error('no'));
    const job = await queue.enqueue(VALUE, { metadata: { kind: 'x' } });
    await queue.schedules.upsert('nightly', { everyMs: 3_600_000 }, { payload: VALUE });
    const shown = [
      await queue.list('pending'),
      await queue.list('pending', { metadata: { kind: 'x' } }),
      (await queue.deadLetters.list()).jobs,
      await queue.schedules.list(),
      [await queue.schedules.get('nightly'), await queue.get(job.id)],
    ];
    expect(shown.map((all) => all.map((each) => each?.payload))).toEqual([[VALUE], [VALUE], [VALUE], [VALUE], [VALUE, VALUE]]); // prettier-ignore
  });

  it('lets a schema see the payload as the handler will', async () => {
    const Typed = defineJob('typed', { payload: z.object({ at: z.date() }) });
    const queue = new JobQueue(connect(), uniqueQueueName(), { codec });
    await queue.enqueue(Typed, { at: new Date(5) });
    expect((await queue.claim())!.payload).toEqual({ at: new Date(5) });
    await expect(queue.enqueue(Typed, { at: 'today' } as never)).rejects.toThrow('payload.at');
  });
});

describe('a codec', () => {
  const throwing: JobCodec = {
    name: 'throwing',
    encode: () => {
      throw new Error('not this');
    },
    decode: (json) => json,
  };

  it('that throws refuses the enqueue', async () => {
    const queue = new JobQueue(connect(), uniqueQueueName(), { codec: throwing });
    await expect(queue.enqueue('x')).rejects.toThrow(
      'payload: expected a value that the codec throwing takes, found one that it refuses (not this).',
    );
    expect((await queue.stats()).pending).toBe(0);
  });

  it('that is no codec is refused', () => {
    const options = { codec: { name: 'Not A Name', encode: String, decode: String } };
    expect(() => new JobQueue(connect(), uniqueQueueName(), options)).toThrow(
      'codec: expected { name, encode, decode }, with a name of 1 to 32 of a-z 0-9 -',
    );
  });

  it('whose values are too large is refused by their stored size', async () => {
    const queue = new JobQueue(connect(), uniqueQueueName(), { codec: bySuperjson, maxPayloadBytes: 50 });
    await expect(queue.enqueue('x'.repeat(45))).rejects.toThrow('expected at most 50 bytes of JSON');
  });
});
