import { describe, expect, it } from '@jest/globals';
import { JobFailedError, JobQueueService, NonRetryableError, type Job } from 'nest-job-queue';
import { QuietLogger } from '#nest/connection/quiet-logger.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { KeptLog, startApp, handlerOf } from '../app.js';

const ESCAPES = '\x1b[2J\x1b]0;owned\x07\r\u009b31m\u202e';
const HOSTILE: [string, unknown][] = [
  ['Lua', { text: '"]] redis.call("FLUSHALL") --[[' }],
  ['RESP', ['*1\r\n$8\r\nFLUSHALL\r\n', '$-1\r\n', '-ERR\r\n']],
  ['glob', { '*?[a-z]': '{*}' }],
  ['terminal escapes', ESCAPES],
  ['names of Object', JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}')],
  ['half a character', '\uD800'],
  ['NUL', { 'a\0': '\0' }],
];

async function hostileApp(handle: (job: Job) => unknown, log = new KeptLog()) {
  const name = uniqueQueueName('hostile');
  const Handler = handlerOf(name, (job: Job) => handle(job), { maxAttempts: 1 });
  const app = await startApp({ providers: [Handler], log });
  return { name, jobs: app.get(JobQueueService) };
}

describe('through the Nest module, hostile content stays data', () => {
  it.each(HOSTILE)('%s, as payload, progress, log line and result', async (_what, value) => {
    const { name, jobs } = await hostileApp(async (job) => {
      await job.progress(job.payload);
      await job.log(JSON.stringify(job.payload));
      return job.payload;
    });
    const { id, result } = await jobs.enqueue(name, value).then(async (job) => {
      return { id: job.id, result: await job.result({ timeoutMs: 10_000 }) };
    });
    expect(result).toEqual(value);
    const record = (await jobs.queue(name).get(id))!;
    expect(record).toMatchObject({ payload: value, progress: value, result: value });
    expect(JSON.parse(record.log[0]!.message)).toEqual(value);
    expect(Object.prototype).not.toHaveProperty('polluted');
  });

  it('is kept exactly in the error of a handler, and spelled out where the error is printed', async () => {
    const { name, jobs } = await hostileApp(() => {
      throw new NonRetryableError(ESCAPES);
    });
    const job = await jobs.enqueue(name, null);
    const error = (await job.result({ timeoutMs: 10_000 }).catch((thrown: unknown) => thrown)) as JobFailedError;
    expect(error).toBeInstanceOf(JobFailedError);
    expect(error.reason).toBe(ESCAPES);
    expect(error.message).toContain(String.raw`\x1b[2J\x1b]0;owned\x07\r\x9b31m\u202e`);
    expect((await jobs.queue(name).get(job.id))!.lastError).toBe(ESCAPES);
  });
});

describe("a line of Nest's Logger", () => {
  it('is one line without control characters', async () => {
    const log = new KeptLog();
    await hostileApp(() => undefined, log);
    for (const level of ['log', 'warn', 'error'] as const)
      new QuietLogger()[level](`Job ${ESCAPES}\n\tof "q" failed`);
    const said = log.lines.filter((line) => line.includes('of "q" failed'));
    const text = String.raw`Job \x1b[2J\x1b]0;owned\x07\r\x9b31m\u202e\n\tof "q" failed`;
    expect(said).toEqual([`log ${text}`, `warn ${text}`, `error ${text}`]);
  });
});
