// A handler's results and reports are stored alike in a thread and in the process, or refused alike.
import { randomBytes } from 'node:crypto';
import { types } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { JobHandler, JobQueueService, type Job } from 'nest-job-queue';
import { encrypted, type JobCodec } from 'nest-job-queue/core';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { startApp, handlerOf } from '../app.js';

const file = new URL('./threads/values.mjs', import.meta.url);
const { default: store, values } = (await import(file.href)) as {
  default: (job: Job<never>) => unknown;
  values: Record<string, () => unknown>;
};
const WAYS = ['result', 'progress', 'checkpoint', 'log'] as const;

/** Starts an app with the handler in a thread and in the process. Returns what a job of each leaves. */
async function startBoth(codec?: JobCodec) {
  const [inThread, inProcess] = [uniqueQueueName('thread'), uniqueQueueName('process')];

  @JobHandler(inThread, { thread: file, concurrency: 1, maxAttempts: 2 })
  class InThread {}

  const InProcess = handlerOf(inProcess, (job: Job<never>) => store(job), { maxAttempts: 2 });

  const app = await startApp({ providers: [InThread, InProcess], jobs: { ...(codec && { codec }) } });
  const jobs = app.get(JobQueueService);
  const left = async (queue: string, payload: object) => {
    const job = await jobs.enqueue(queue, payload);
    await job.result({ timeoutMs: 15_000 }).catch(() => undefined);
    const { status, result, lastError, progress, checkpoint, log, attempts } = (await job.get())!;
    return {
      status,
      result,
      error: lastError,
      progress,
      checkpoint,
      log: log.map(({ message }) => message),
      attempts,
    };
  };
  return (payload: object) => Promise.all([left(inThread, payload), left(inProcess, payload)]);
}

describe.each([
  ['without a codec', undefined],
  ['with a codec of JSON', encrypted([{ id: 'k', key: randomBytes(32) }])],
])('a value from a thread, %s,', (_, codec) => {
  it.each(WAYS)('is the same %s as in the process, or refused with the same path', async (way) => {
    const both = await startBoth(codec);
    const left = await Promise.all(Object.keys(values).map((value) => both({ value, way })));
    expect(left.map(([thread]) => thread)).toEqual(left.map(([, process]) => process));
    const [money] = left[0]!;
    expect(way === 'log' ? money.result : money[way]).toEqual(
      way === 'log' ? expect.objectContaining({ code: 'INVALID_OPTION' }) : { price: 5, at: [5] },
    );
  });
});

it('a codec that takes more than JSON gets dates and maps from a thread, and the JSON of other objects', async () => {
  const both = await startBoth({
    name: 'kinds',
    encode: (value) => (types.isMap(value) ? { map: [...value] } : types.isDate(value) ? { date: value } : value),
    decode: (json) => json,
  });
  const results = async (value: string) => (await both({ value, way: 'result' })).map(({ result }) => result);
  for (const value of ['money', 'only money', 'only date', 'only map', 'proxy', 'text']) {
    const [thread, process] = await results(value);
    expect(thread).toEqual(process);
    expect(thread).toBeDefined();
  }
});
