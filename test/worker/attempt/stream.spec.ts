// A job's stream from its handler to its readers.
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { ScriptStore } from '#memory/script-store.js';
import { defineJob } from '#queue/enqueue/define-job.js';
import {
  ClaimLostError,
  InvalidOptionError,
  InvalidPayloadError,
  JobCancelledError,
  JobFailedError,
  JobNotFoundError,
  NonRetryableError,
  QueueClosedError,
} from '#queue/errors/errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import type { StreamItem } from '#queue/model/job-stream.js';
import type { ReadStreamOptions } from '#queue/results/stream-options.js';
import { defineHandler } from '#worker/handlers/define-handler.js';
import type { Job } from '#worker/handlers/job.js';
import { serverOf } from '../../support/queue/inside.js';
import { eventually, gate } from '../../support/faults/wait.js';
import {
  connectionsOf,
  namedConnection,
  newQueue,
  onEachStore,
  startWorker,
} from '../../support/worker/workers.js';

/** Returns items without their ids: chunks as they are, marks by their type. */
function told(items: readonly StreamItem[]): unknown[] {
  return items.map(({ type, data }) => (type === 'chunk' ? data : { [type]: data }));
}

async function read(queue: JobQueue, id: string, options: ReadStreamOptions = {}): Promise<StreamItem[]> {
  const items: StreamItem[] = [];
  for await (const item of queue.stream(id, options)) items.push(item);
  return items;
}

const tokens = async function* () {
  yield 'Hel';
  yield 'lo';
  return { tokens: 2 };
};

onEachStore('a stream', () => {
  it('has the chunks of a generator in their order, and ends with its result', async () => {
    const queue = newQueue();
    await startWorker(queue, tokens);
    const { id } = await queue.enqueue({});
    const live = await read(queue, id);
    expect(told(live)).toEqual(['Hel', 'lo', { result: { tokens: 2 } }]);
    expect(await read(queue, id)).toEqual(live);
    expect((await queue.get(id))?.stream).toEqual({ entries: 2, bytes: expect.any(Number) });
  });

  it('carries text, JSON and bytes, also chunks that the handler does not await', async () => {
    const queue = newQueue();
    const chunks = ['text', { json: [1, null] }, 0, Buffer.from([0, 255]), new Uint8Array([1])];
    await startWorker(queue, (job: Job) => chunks.forEach((chunk) => void job.stream.write(chunk)));
    const { id } = await queue.enqueue({});
    expect(told(await read(queue, id))).toEqual([
      'text',
      { json: [1, null] },
      0,
      Buffer.from([0, 255]),
      Buffer.from([1]),
      { result: null },
    ]);
  });

  it('keeps the order of many chunks, and holds up no other job for them', async () => {
    const queue = newQueue({ stream: { maxBytes: 10_000_000 } });
    const many = Array.from({ length: 5_000 }, (_, i) => i);
    await startWorker(queue, (job: Job) =>
      (job.payload as number) === 1 ? many.forEach((each) => void job.stream.write(each)) : job.stream.write('one'),
    );
    const [long, short] = await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
    expect(told(await read(queue, short!.id))).toEqual(['one', { result: null }]);
    expect(told(await read(queue, long!.id))).toEqual([...many, { result: null }]);
  });

  it('is read while the job runs, by many readers, from any item on', async () => {
    const queue = newQueue();
    const [first, rest] = [gate(), gate()];
    await startWorker(queue, async function* () {
      yield 1;
      await first.promise;
      yield 2;
      await rest.promise;
      yield 3;
    });
    const { id } = await queue.enqueue({});
    const reader = queue.stream(id)[Symbol.asyncIterator]();
    const { value } = (await reader.next()) as { value: StreamItem };
    expect(value).toMatchObject({ type: 'chunk', attempt: 1, data: 1 });
    const others = [read(queue, id), read(queue, id, { after: value.id })];
    first.open();
    expect(await reader.next()).toMatchObject({ value: { data: 2 } });
    rest.open();
    expect((await Promise.all(others)).map(told)).toEqual([
      [1, 2, 3, { result: null }],
      [2, 3, { result: null }],
    ]);
    expect(await reader.next()).toMatchObject({ value: { data: 3 } });
  });

  it.each([
    ['continue', ['a', { attempt: { attempt: 2, restart: false } }, 'a', { result: 'done' }]],
    ['restart', [{ attempt: { attempt: 2, restart: true } }, 'a', { result: 'done' }]],
  ] as const)('marks a new attempt: %s', async (onRetry, expected) => {
    const queue = newQueue({ stream: { onRetry } });
    const worker = await startWorker(queue, async (job: Job) => {
      await job.stream.write('a');
      if (job.attempt === 1) throw new Error('once');
      return 'done';
    });
    const { id } = await queue.enqueue({});
    await worker.event('completed');
    expect(told(await read(queue, id))).toEqual(expected);
  });

  it('ends with the error of the job, after its chunks', async () => {
    const queue = newQueue();
    await startWorker(queue, async function* () {
      yield 'a';
      throw new NonRetryableError('no');
    });
    const { id } = await queue.enqueue({});
    const items: unknown[] = [];
    await expect(
      (async () => {
        for await (const { data } of queue.stream(id)) items.push(data);
      })(),
    ).rejects.toThrow(JobFailedError);
    expect(items).toEqual(['a']);
  });

  it('says how many chunks a late reader misses', async () => {
    const queue = newQueue({ stream: { maxBytes: 1_024 } });
    await startWorker(queue, async (job: Job) => {
      for (let i = 0; i < 40; i++) await job.stream.write(i);
    });
    const { id } = await queue.enqueue({});
    await queue.result(id);
    const [mark, ...items] = await read(queue, id);
    const missing = 40 - (items.length - 1);
    expect(mark).toMatchObject({ type: 'truncated', data: { missing } });
    expect(told(items)[0]).toBe(missing);
    expect(told(await read(queue, id, { after: mark!.id }))).toEqual(told(items));
  });

  it('refuses a chunk that is too large or no JSON, and the handler may go on', async () => {
    const queue = newQueue({ stream: { maxBytes: 2_000 } });
    const errors: unknown[] = [];
    await startWorker(queue, async (job: Job) => {
      for (const chunk of ['x'.repeat(2_000), undefined, new Map()]) {
        try {
          void job.stream.write(chunk);
        } catch (error) {
          errors.push(error);
        }
      }
      await job.stream.write('short');
    });
    const { id } = await queue.enqueue({});
    expect(told(await read(queue, id))).toEqual(['short', { result: null }]);
    expect(errors.map((error) => error instanceof InvalidPayloadError)).toEqual([true, true, true]);
    expect(String(errors[0])).toBe(
      'InvalidPayloadError: chunk: expected at most 2000 bytes as stored; write it in several chunks, found 2002 bytes.',
    );
  });

  it('is read by the handle of its job', async () => {
    const queue = newQueue();
    await startWorker(queue, tokens);
    const job = await queue.enqueue({});
    const items: StreamItem[] = [];
    for await (const item of job.stream()) items.push(item);
    expect(told(items)).toEqual(['Hel', 'lo', { result: { tokens: 2 } }]);
    expect(() => job.stream({ after: 'last' })).toThrow(InvalidOptionError);
  });

  it('has only chunks that the schema of its definition allows', async () => {
    const queue = newQueue({ redact: ['iban'] });
    const Chat = defineJob(queue.name, { payload: z.unknown(), chunk: z.object({ word: z.string() }).loose() });
    const errors: unknown[] = [];
    const handle = defineHandler(Chat, async (job) => {
      for (const chunk of [{ word: 1 }, { iban: 'DE02' }]) {
        try {
          void job.stream.write(chunk as never);
        } catch (error) {
          errors.push(error);
        }
      }
      await job.stream.write({ word: 'a', iban: 'DE02' });
    });
    await startWorker(queue, handle);
    const job = await queue.enqueue(Chat, {});
    const words: string[] = [];
    for await (const item of job.stream()) if (item.type === 'chunk') words.push(item.data.word);
    expect(words).toEqual(['a']);
    expect(errors.map(String)).toEqual([
      'InvalidPayloadError: chunk.word: expected string, found 1.',
      'InvalidPayloadError: chunk.word: expected string, found undefined.',
    ]);
  });

  it.each([
    ['does not allow a chunk', z.string(), 'InvalidPayloadError: chunk: expected string, found 1.'],
    ['is asynchronous', z.number().refine(async () => true), 'because chunks keep their order'],
    ['is asynchronous and refuses', z.number().refine(async () => false), 'because chunks keep their order'],
  ])('fails the attempt of a generator where the schema %s', async (_, chunk, reason) => {
    const queue = newQueue();
    const Chat = defineJob(queue.name, { payload: z.unknown(), chunk: chunk as z.ZodType<number>, maxAttempts: 1 });
    const worker = await startWorker(queue, defineHandler(Chat, async function* () { yield 1; })); // prettier-ignore
    const { id } = await queue.enqueue(Chat, {});
    expect(String((await worker.event('failed')).error)).toContain(reason);
    expect((await queue.get(id))?.stream).toBeUndefined();
  });

  it('refuses an unknown job, a cursor of no item, and a closed queue', async () => {
    const queue = newQueue();
    await expect(read(queue, 'unknown')).rejects.toThrow(JobNotFoundError);
    expect(() => queue.stream('a', { after: 'last' })).toThrow(InvalidOptionError);
    const { id } = await queue.enqueue({});
    const reading = read(queue, id);
    await eventually(async () => (await queue.get(id)) !== null);
    queue.close();
    await expect(reading).rejects.toThrow(QueueClosedError);
  });

  it('begins anew for a reader of an earlier job with the same id', async () => {
    const queue = newQueue();
    await startWorker(queue, tokens);
    await queue.enqueue({}, { id: 'a' });
    const before = await read(queue, 'a');
    await queue.remove('a');
    await queue.enqueue({}, { id: 'a' });
    await queue.result('a');
    expect(told(await read(queue, 'a', { after: before[1]!.id }))).toEqual([
      { attempt: { attempt: 1, restart: true } },
      'Hel',
      'lo',
      { result: { tokens: 2 } },
    ]);
  });

  it.each([true, false])('a reader who leaves cancels the job by option: %s', async (cancelOnLeave) => {
    const queue = newQueue();
    const worker = await startWorker(queue, async function* (job: Job) {
      yield 1;
      await new Promise((resolve) => job.signal.addEventListener('abort', resolve));
      yield 2;
    });
    const { id } = await queue.enqueue({});
    for await (const { data } of queue.stream(id, { cancelOnLeave })) {
      if (data === 1) break;
    }
    if (cancelOnLeave) {
      await worker.event('cancelled');
      await expect(read(queue, id)).rejects.toThrow(JobCancelledError);
    } else {
      expect((await queue.get(id))?.cancelRequestedAt).toBeUndefined();
      await queue.cancel(id);
    }
  });

  it('stops a generator at its next yield once its signal has aborted', async () => {
    const queue = newQueue();
    const [began, ran] = [gate(), [] as string[]];
    const worker = await startWorker(queue, async function* (job: Job) {
      try {
        yield 1;
        began.open();
        await new Promise((resolve) => job.signal.addEventListener('abort', resolve));
        ran.push('to the next yield');
        yield 2;
        ran.push('beyond it');
      } finally {
        ran.push('to its end');
      }
    });
    const { id } = await queue.enqueue({});
    await began.promise;
    await queue.cancel(id);
    await worker.event('cancelled');
    expect(ran).toEqual(['to the next yield', 'to its end']);
    expect((await queue.get(id))?.stream?.entries).toBe(1);
  });

  it('ends by the signal of its reader', async () => {
    const queue = newQueue();
    const { id } = await queue.enqueue({});
    const leaving = new AbortController();
    const reading = read(queue, id, { signal: leaving.signal });
    leaving.abort(new Error('gone'));
    await expect(reading).rejects.toThrow('gone');
  });

  it('goes with the record of its job', async () => {
    const queue = newQueue();
    await startWorker(queue, tokens);
    const { id } = await queue.enqueue({});
    await queue.result(id);
    await queue.remove(id);
    await expect(read(queue, id)).rejects.toThrow(JobNotFoundError);
  });
});

describe('a stream on Redis', () => {
  it('is read by the looks where the queue publishes nothing', async () => {
    const queue = newQueue({ events: 'off' });
    await startWorker(queue, tokens);
    const { id } = await queue.enqueue({});
    expect(told(await read(queue, id))).toEqual(['Hel', 'lo', { result: { tokens: 2 } }]);
  });

  it('costs readers of a process one connection', async () => {
    const redis = namedConnection();
    const queue = newQueue({}, redis);
    const { keys } = (await serverOf(queue)).scripts;
    const jobs = await queue.enqueueMany(Array.from({ length: 20 }, () => ({ payload: 1 })));
    const leaving = new AbortController();
    const readers: Promise<unknown>[] = [];
    /** Starts readers, and returns the number of connections once the server has all their subscriptions. */
    const connectionsWith = async (ids: string[]) => {
      readers.push(...ids.map((id) => read(queue, id, { signal: leaving.signal })));
      const channels = ids.map((id) => keys.stream(id));
      await eventually(async () => !(await redis.pubsub('NUMSUB', ...channels)).includes(0));
      return (await connectionsOf(redis)).length;
    };
    const [first, ...others] = jobs.map(({ id }) => id);
    const withOne = await connectionsWith([first!]);
    expect(await connectionsWith(others)).toBe(withOne);
    leaving.abort(new Error('gone'));
    await Promise.allSettled(readers);
  });
});

it('refuses a chunk behind the end of its handler, also before the attempt is settled', async () => {
  let job: Job | undefined;
  let late: Promise<unknown> | undefined;
  const store = new ScriptStore(undefined, {
    link: async (script, run) => {
      if (script.startsWith('attemptComplete')) {
        late ??= job!.stream.write('late').catch((error: unknown) => error);
        await late;
      }
      return run();
    },
  });
  const queue = newQueue({}, store);
  await startWorker(queue, async (each: Job) => {
    job = each;
    await each.stream.write('in time');
  });
  const { id } = await queue.enqueue({});
  expect(told(await read(queue, id))).toEqual(['in time', { result: null }]);
  expect(await late).toBeInstanceOf(ClaimLostError);
});

it('sends at most 262,144 bytes in a call, whatever the characters', async () => {
  let calls = 0;
  const store = new ScriptStore(undefined, {
    link: async (script, run) => {
      calls += script.startsWith('streamWrite') ? 1 : 0;
      return run();
    },
  });
  const queue = newQueue({}, store);
  const chunk = '€'.repeat(60_000); // 180,000 bytes
  await startWorker(queue, (job: Job) => Promise.all([1, 2, 3].map(() => job.stream.write(chunk))));
  const { id } = await queue.enqueue({});
  await queue.result(id);
  expect(calls).toBe(3);
});
