// The lines of the app's logger for handlers that throw.
import { describe, expect, it } from '@jest/globals';
import type { LoggerService } from '@nestjs/common';
import { JobHandler, JobQueueService, OnJobEvent, type JobQueueModuleOptions } from 'nest-job-queue';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { KeptLog, startApp } from '../app.js';

/** Starts an app whose jobs fail, each twice, and waits for the end of one. */
async function failingApp(jobs: JobQueueModuleOptions, log: LoggerService) {
  const name = uniqueQueueName();
  @JobHandler(name)
  class Handler {
    handle(): never {
      throw new Error('not sent', { cause: new TypeError('no route') });
    }

    @OnJobEvent('failed')
    onFailed(): never {
      throw new Error('no listener');
    }
  }
  const app = await startApp({ providers: [Handler], jobs: { maxAttempts: 2, ...jobs }, log });
  const job = await app.get(JobQueueService).enqueue(name, { to: 'secret@example.com' });
  const failure: unknown = await job.result({ timeoutMs: 10_000 }).catch((error: unknown) => error);
  await app.close();
  return { name, id: job.id, failure };
}

function throws(): never {
  throw new Error('no log');
}

describe('a handler that throws', () => {
  it('is logged with its causes: an attempt as a warning, a dead letter as an error', async () => {
    const log = new KeptLog();
    const { name, id } = await failingApp({}, log);
    const said = log.lines.filter((line) => line.includes(id));
    expect(said.map((line) => line.split('\n')[0])).toEqual([
      `warn Job ${id} ("${name}" in queue "${name}") failed in attempt 1 of 2; tried again at once: Error: not sent`,
      `error Job ${id} ("${name}" in queue "${name}") failed in attempt 2 of 2 and is a dead letter: Error: not sent`,
    ]);
    expect(said[1]).toMatch(/\n {4}at .*\n {2}\[cause\] TypeError: no route\n {6}at /s);
    expect(log.lines).toContainEqual(
      expect.stringMatching(
        /^error @OnJobEvent\("failed"\) on Handler.onFailed threw: Error: no listener\n {4}at /,
      ),
    );
    expect(log.lines.join('\n')).not.toContain('secret');
  });

  it('is not logged with logFailures: false', async () => {
    const log = new KeptLog();
    const { id } = await failingApp({ logFailures: false }, log);
    expect(log.lines.filter((line) => line.includes(id))).toEqual([]);
  });

  it('ends its job also where the logger throws', async () => {
    const { failure } = await failingApp({}, { log: () => undefined, warn: throws, error: throws });
    expect(failure).toMatchObject({ name: 'JobFailedError', reason: 'not sent', attempts: 2 });
  });
});
