import { describe, expect, it } from '@jest/globals';
import { Injectable, Scope } from '@nestjs/common';
import {
  ClaimLostError,
  defineJob,
  InvalidOptionError,
  Job,
  JobHandler,
  JobQueueService,
  OnJobEvent,
  type JobEventType,
  type OnJobEventOptions,
  type WorkerEvent,
} from 'nest-job-queue';
import { z } from 'zod';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { eventually, sleep } from '../../support/faults/wait.js';
import { compileApp, KeptLog, startApp } from '../app.js';

/** Makes a handler that fails the payload `no`, retries `later`, and completes the others. */
function handlerOf(name: string) {
  @JobHandler(name, { maxAttempts: 2 })
  class Handler {
    handle(job: Job<string>) {
      if (job.payload === 'no' || (job.payload === 'later' && job.attempt === 1)) {
        throw new Error(job.payload);
      }
      return `did ${job.payload}`;
    }
  }
  return Handler;
}

describe('@OnJobEvent', () => {
  it.each<['failed' | 'cancelled', string | undefined]>([
    ['failed', 'WorkerCrash'],
    ['cancelled', 'WorkerCrash'],
  ])('gets a job that died with its worker, %s, where the sweep runs', async (type, errorName) => {
    const name = uniqueQueueName();
    const seen: WorkerEvent[] = [];
    @Injectable()
    class Pager {
      @OnJobEvent(['failed', 'cancelled', 'released', 'retry'], { name })
      tell(event: WorkerEvent) {
        seen.push(event);
      }
    }
    const app = await startApp({ jobs: { worker: false, maintenance: false }, providers: [Pager] });
    const queue = app.get(JobQueueService).queue(name);
    const { id } = await queue.enqueue({ n: 1 }, { maxAttempts: type === 'failed' ? 1 : 3 });
    await queue.claim();
    if (type === 'cancelled') await queue.cancel(id);
    await connect().zadd(`queue:${name}:claims`, 1, id);
    const sweeping = await startApp({ jobs: { worker: false, maintenance: { everyMs: 100 } }, providers: [Pager] });
    sweeping.get(JobQueueService).queue(name);
    await eventually(() => seen.length > 0);
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({
      type,
      job: { id, name, queue: name, payload: { n: 1 }, attempt: 1 },
      error: { name: errorName, message: expect.stringContaining('claim expired') },
    });
    await expect(seen[0]!.job.progress(1)).rejects.toThrow(ClaimLostError);
  });

  it('calls the method in the process where it happened, with the provider as this', async () => {
    const name = uniqueQueueName();
    const seen: unknown[] = [];
    @Injectable()
    class Listener {
      private readonly who = 'listener';

      @OnJobEvent('completed')
      completed({ type, job, result }: WorkerEvent) {
        seen.push([this.who, type, job.name, result]);
      }

      @OnJobEvent(['retry', 'failed'])
      bad({ type, job, error }: WorkerEvent) {
        seen.push([this.who, type, job.attempt, (error as Error).message]);
      }
    }
    const app = await startApp({ providers: [handlerOf(name), Listener] });
    const elsewhere = await startApp({ providers: [Listener] }); // no handler: it gets no event
    const jobs = elsewhere.get(JobQueueService);
    for (const payload of ['yes', 'later', 'no']) {
      await (await jobs.enqueue(name, payload)).result().catch(() => undefined);
    }
    await eventually(() => seen.length === 5);
    expect(seen).toEqual([
      ['listener', 'completed', name, 'did yes'],
      ['listener', 'retry', 1, 'later'],
      ['listener', 'completed', name, 'did later'],
      ['listener', 'retry', 1, 'no'],
      ['listener', 'failed', 2, 'no'],
    ]);
    await app.close();
  });

  it('gets jobs that were refused before a handler ran, or whose payload does not fit', async () => {
    const Email = defineJob(uniqueQueueName('email'), { payload: z.object({ to: z.string() }) });
    const seen: string[] = [];
    @Injectable()
    class Emails {
      @JobHandler(Email)
      send(_job: Job<{ to: string }>) {}

      @OnJobEvent('failed', { name: Email.name })
      failed({ job, error }: WorkerEvent) {
        seen.push(`${job.id}: ${(error as Error).message}`);
      }
    }
    const producer = (await startApp({})).get(JobQueueService);
    await producer.enqueue(Email, { to: 'ada' }, { id: 'late', expiresInMs: 1 });
    await producer.enqueue(Email.name, { to: 5 }, { id: 'bad' });
    await sleep(5); // the first job expires, which sends no signal
    await startApp({ providers: [Emails] });
    await eventually(() => seen.length === 2);
    expect(seen.toSorted()).toEqual([
      'bad: payload.to: expected string, found 5.',
      'late: The job was not started within its expiresInMs.',
    ]);
  });

  it('is filtered by queue and by name', async () => {
    const [first, second, shared] = [uniqueQueueName(), uniqueQueueName(), uniqueQueueName('shared')];
    const seen: string[] = [];
    @Injectable()
    class Both {
      @JobHandler(first, { queue: shared })
      @JobHandler(second, { queue: shared })
      run() {}

      @OnJobEvent('completed', { name: first })
      named({ job }: WorkerEvent) {
        seen.push(`named ${job.name}`);
      }

      @OnJobEvent('completed', { queue: shared, name: second })
      queued({ job }: WorkerEvent) {
        seen.push(`queued ${job.name}`);
      }

      @OnJobEvent('completed', { queue: first })
      never() {
        seen.push('never');
      }
    }
    const app = await startApp({ providers: [Both] });
    const jobs = app.get(JobQueueService);
    await (await jobs.enqueue(first, 1)).result();
    await (await jobs.enqueue(second, 1)).result();
    await eventually(() => seen.length === 2);
    expect(seen).toEqual([`named ${first}`, `queued ${second}`]);
  });

  it('that throws or rejects harms nothing, and is logged with its place', async () => {
    const name = uniqueQueueName();
    let calls = 0;
    @Injectable()
    class Bad {
      @OnJobEvent('completed')
      throws() {
        throw new Error('bad at once');
      }

      @OnJobEvent('completed')
      async rejects() {
        await Promise.reject(new Error('bad later'));
      }

      @OnJobEvent('completed')
      counts() {
        calls++;
      }
    }
    const log = new KeptLog();
    const app = await startApp({ providers: [handlerOf(name), Bad], log });
    const jobs = app.get(JobQueueService);
    expect(await (await jobs.enqueue(name, 'a')).result()).toBe('did a');
    expect(await (await jobs.enqueue(name, 'b')).result()).toBe('did b');
    await eventually(() => calls === 2);
    const errors = log.lines.filter((line) => line.startsWith('error'));
    expect(errors.join()).toContain('@OnJobEvent("completed") on Bad.throws threw: Error: bad at once');
    expect(errors.join()).toContain('@OnJobEvent("completed") on Bad.rejects threw: Error: bad later');
  });
});

async function bootError(types: unknown, options?: unknown, scope = Scope.DEFAULT): Promise<Error> {
  @Injectable({ scope })
  class Listener {
    @OnJobEvent(types as JobEventType, options as OnJobEventOptions)
    hear() {}
  }
  const app = await compileApp({ providers: [Listener] });
  const error: unknown = await app.init().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(InvalidOptionError);
  return error as Error;
}

describe('the app does not boot with @OnJobEvent', () => {
  it.each<[string, unknown, unknown, string]>([
    [
      'a type that does not exist',
      'done',
      {},
      '@OnJobEvent("done") on Listener.hear: expected started, completed, retry,',
    ],
    ['one in a list', ['failed', 5], {}, 'found 5.'],
    ['no type', [], {}, 'expected started, completed'],
    [
      'an unknown option',
      'failed',
      { nam: 'email' },
      '.nam: expected a known option, found "nam". Did you mean name?',
    ],
    ['a bad name', 'failed', { name: 5 }, '.name: expected text, found 5.'],
  ])('%s', async (_what, types, options, message) => {
    expect((await bootError(types, options)).message).toContain(message);
  });

  it('on a request-scoped provider', async () => {
    const error = await bootError('failed', {}, Scope.REQUEST);
    expect(error.message).toBe(
      '@OnJobEvent("failed") on Listener.hear: expected a provider of the default scope, found a request-scoped one.',
    );
  });
});
