// The queues of a test: which jobs run, when, and the report to the test.
import { describe, expect, it } from '@jest/globals';
import {
  Injectable,
  UseGuards,
  UseInterceptors,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import {
  getJob,
  InvalidOptionError,
  JobHandler,
  JobQueueService,
  RecurringJob,
  RetryLaterError,
  type Job,
} from 'nest-job-queue';
import { TestingError } from 'nest-job-queue/testing';
import { tap } from 'rxjs';
import { shardOfKey } from '#queue/model/spread.js';
import { startTested } from './app.js';
import { sleep } from '../../support/faults/wait.js';

const SECOND = 1_000;
const HOUR = 3_600_000;

/** Returns a key whose hash names a shard. */
function keyOfShard(shard: number, shards: number): string {
  for (let i = 0; ; i++) if (shardOfKey(`k${i}`, shards) === shard) return `k${i}`;
}

/** Makes a handler of "email" that runs the test's function. */
function emailHandler(
  handle: (job: Job<{ n: number }>) => unknown,
  options: Parameters<typeof JobHandler>[1] = {},
) {
  @JobHandler('email', options)
  class EmailHandler {
    handle(job: Job<{ n: number }>) {
      return handle(job);
    }
  }
  return EmailHandler;
}

describe('drain', () => {
  it('runs through the waits of the default retries, by its clock', async () => {
    const { testing, jobs } = await startTested({
      providers: [emailHandler(() => Promise.reject(new Error('no')))],
    });
    const before = testing.now.getTime();
    const job = await jobs.enqueue('email', { n: 1 });
    expect(await testing.drain()).toMatchObject({ retry: 9, failed: 1 });
    expect(await job.get()).toMatchObject({ status: 'failed', attempts: 10 });
    const minutes = (testing.now.getTime() - before) / 60_000;
    expect(minutes).toBeGreaterThan(0.8 * 8.5);
    expect(minutes).toBeLessThan(8.6);
  });

  it('runs a batch to its follow-up, and a job after another', async () => {
    const ran: string[] = [];
    @JobHandler('page')
    class Page {
      handle({ payload }: Job<number>) {
        ran.push(`page ${payload}`);
        return payload;
      }
    }
    @JobHandler('book')
    class Book {
      async handle(job: Job) {
        for await (const { result } of job.batch!.members<number>()) ran.push(`bound ${result}`);
      }
    }
    const { testing, jobs } = await startTested({ providers: [Page, Book] });
    const batch = jobs.batch({ then: { name: 'book' } });
    await batch.addMany('page', [{ payload: 1 }, { payload: 2, id: 'mine' }]);
    await batch.add('page', 2, { id: 'mine' }); // a repeat
    await batch.seal();
    const first = await jobs.enqueue('page', 3);
    await jobs.enqueue('page', 4, { after: [first.id] });
    await testing.drain();
    expect(ran.toSorted()).toEqual(['bound 1', 'bound 2', 'page 1', 'page 2', 'page 3', 'page 4']);
  });

  it.each([0, 1, 2, 3])(
    'cancels the other members of a batch with failFast, and runs its follow-up, from shard %i',
    async (shard) => {
      const seen: unknown[] = [];
      @JobHandler('ingest', { spread: 4, maxAttempts: 1 })
      class Ingest {
        async handle({ payload, batch }: Job<string>) {
          if (payload === 'fails') throw new Error('no');
          if (payload === 'after') seen.push(await batch!.status());
        }
      }
      const { testing, jobs } = await startTested({ providers: [Ingest] });
      const batch = jobs.batch({
        id: keyOfShard(shard, 4),
        failFast: true,
        finally: { name: 'ingest', payload: 'after', group: keyOfShard(3 - shard, 4) },
      });
      const others = [0, 1, 2, 3].map((each) => ({ payload: 'waits', group: keyOfShard(each, 4), delayMs: HOUR }));
      await batch.addMany('ingest', others);
      await batch.add('ingest', 'fails', { group: keyOfShard(2, 4) });
      await batch.seal();
      expect(await testing.drain()).toMatchObject({ completed: 1, failed: 1, cancelled: 4 });
      expect(seen).toMatchObject([{ total: 5, failed: 1, cancelled: 4 }]);
    },
  );

  it('runs due jobs, and those that its handlers enqueue', async () => {
    const ran: string[] = [];
    @JobHandler('second')
    class Second {
      handle({ name }: Job) {
        ran.push(name);
      }
    }
    @JobHandler('first')
    @Injectable()
    class First {
      constructor(private readonly jobs: JobQueueService) {}
      async handle({ name }: Job) {
        ran.push(name);
        await this.jobs.enqueue('second', {});
      }
    }
    const { testing, jobs } = await startTested({ providers: [First, Second] });
    await jobs.enqueue('first', {});
    expect(await testing.drain()).toMatchObject({ completed: 2, failed: 0 });
    expect(ran).toEqual(['first', 'second']);
    expect(await testing.drain()).toMatchObject({ completed: 0 });
  });

  it('waits for handlers that take real time', async () => {
    let ended = 0;
    const handler = emailHandler(async () => {
      await sleep(30);
      ended++;
    });
    const { testing, jobs } = await startTested({ providers: [handler], jobs: { concurrency: 2 } });
    await jobs.enqueueMany(
      'email',
      [1, 2, 3].map((n) => ({ payload: { n } })),
    );
    await testing.drain();
    expect(ended).toBe(3);
  });

  it('goes through the backoff of each retry, until the job is a dead letter', async () => {
    const attempts: [number, number][] = [];
    const begunAt = Date.UTC(2030, 0, 1);
    const handler = emailHandler(({ attempt, claimedAt }) => {
      attempts.push([attempt, claimedAt.getTime() - begunAt]);
      throw new Error('the mail server is away');
    });
    const jobsOptions = { maxAttempts: 3, backoff: { type: 'exponential', delayMs: 10_000, jitter: 0 } } as const;
    const { testing, jobs } = await startTested({
      providers: [handler],
      jobs: jobsOptions,
      testing: { now: begunAt },
    });
    const job = await jobs.enqueue('email', { n: 1 });
    expect(await testing.drain()).toMatchObject({ retry: 2, failed: 1 });
    expect(attempts).toEqual([
      [1, 0],
      [2, 10_000],
      [3, 30_000],
    ]);
    expect(await job.get()).toMatchObject({ status: 'failed', lastError: 'the mail server is away' });
    expect(testing.errors.map(({ attempt, error }) => [attempt, (error as Error).message])).toEqual(
      [1, 2, 3].map((attempt) => [attempt, 'the mail server is away']),
    );
  });

  it('stops at the outcome of `until`, before the clock moves on', async () => {
    const handler = emailHandler(() => Promise.reject(new Error('no')));
    const { testing, jobs } = await startTested({
      providers: [handler],
      jobs: { maxAttempts: 3, backoff: 60_000 },
    });
    const job = await jobs.enqueue('email', { n: 1 });
    expect(await testing.drain({ until: 'retry' })).toMatchObject({ retry: 1 });
    expect(await job.get()).toMatchObject({ status: 'scheduled', attempts: 1 });
    expect(await testing.drain({ until: 'failed' })).toMatchObject({ retry: 1, failed: 1 });
    await expect(testing.drain({ until: 'failed' })).rejects.toThrow(
      "drain({ until: 'failed' }) ran all that was due, and no job had that end: no attempt ended.",
    );
  });

  it('throws at the test the very error that a handler threw', async () => {
    class MailError extends Error {}
    const thrown = new MailError('refused');
    const handler = emailHandler(() => Promise.reject(thrown));
    const { testing, jobs } = await startTested({
      providers: [handler],
      jobs: { maxAttempts: 3, backoff: 60_000 },
    });
    const job = await jobs.enqueue('email', { n: 1 });
    await expect(testing.drain({ throwErrors: true })).rejects.toBe(thrown);
    expect(await job.get()).toMatchObject({ status: 'scheduled', attempts: 1 });
  });

  it('also reports jobs that ran before it was called', async () => {
    const handler = emailHandler(() => Promise.reject(new Error('no')), { maxAttempts: 1 });
    const { testing, jobs } = await startTested({ providers: [handler] });
    const job = await jobs.enqueue('email', { n: 1 });
    await expect(job.result()).rejects.toThrow('no');
    await expect(testing.drain({ throwErrors: true })).rejects.toThrow('no');
    expect(await testing.drain({ throwErrors: true })).toMatchObject({ failed: 0 });
  });

  it('leaves delayed jobs alone, unless told otherwise', async () => {
    const { testing, jobs } = await startTested({ providers: [emailHandler(() => 'sent')] });
    const job = await jobs.enqueue('email', { n: 1 }, { delayMs: HOUR });
    expect(await testing.drain()).toMatchObject({ completed: 0 });
    expect(await testing.drain({ delayed: true })).toMatchObject({ completed: 1 });
    expect(await job.result()).toBe('sent');
  });

  it('runs a job that asks to be run later when that is', async () => {
    const attempts: number[] = [];
    const handler = emailHandler(({ claimedAt }) => {
      attempts.push(claimedAt.getTime());
      if (attempts.length === 1) throw new RetryLaterError(5 * HOUR);
    });
    const { testing, jobs } = await startTested({ providers: [handler] });
    await jobs.enqueue('email', { n: 1 });
    expect(await testing.drain()).toMatchObject({ released: 1, completed: 1 });
    expect(attempts[1]! - attempts[0]!).toBe(5 * HOUR);
  });

  it('names the handler that does not end, and the handler of endless jobs', async () => {
    const endless = startTested({ providers: [emailHandler(() => new Promise(() => {}))] });
    const { testing, jobs } = await endless;
    const { id } = await jobs.enqueue('email', { n: 1 });
    await expect(testing.drain({ timeoutMs: 20 })).rejects.toThrow(
      new TestingError(
        `The handler of job ${id} ("email") did nothing for 20 ms of real time, so drain() gave up. ` +
          'Move the clock by advance(ms) where it waits for a timeout, or raise drain({ timeoutMs }).',
      ),
    );
  });

  it('says that jobs wait for a worker which is paused, or was never started', async () => {
    const { testing, jobs } = await startTested({ providers: [emailHandler(() => 'sent')] });
    jobs.pauseWorker();
    await jobs.enqueue('email', { n: 1 });
    await expect(testing.drain()).rejects.toThrow('Jobs wait in "email", and no worker claims them.');
    jobs.resumeWorker();
    expect(await testing.drain()).toMatchObject({ completed: 1 });
    await expect(testing.drain({ until: 'done' as 'failed' })).rejects.toThrow(InvalidOptionError);
  });

  it('leaves a job that no handler here knows, as production does', async () => {
    const { testing, jobs } = await startTested({ providers: [emailHandler(() => 'sent')] });
    await jobs.enqueue('invoice', {});
    expect(await testing.drain()).toMatchObject({ completed: 0 });
    expect(testing.enqueued('invoice')).toHaveLength(1);
    expect((await jobs.queue('invoice').stats()).pending).toBe(1);
  });
});

it('enhancers run in a drain as in production: an interceptor sees the result, and a guard that denies ends the job', async () => {
  const seen: unknown[] = [];
  class Watch implements NestInterceptor {
    intercept(_context: ExecutionContext, next: CallHandler) {
      return next.handle().pipe(tap((result) => seen.push(result)));
    }
  }
  class NoEvil implements CanActivate {
    canActivate(context: ExecutionContext) {
      return getJob(context).payload !== 'evil';
    }
  }
  @UseGuards(NoEvil)
  @UseInterceptors(Watch)
  @JobHandler('email')
  class Guarded {
    handle({ payload }: Job) {
      return `sent ${String(payload)}`;
    }
  }
  const { testing, jobs } = await startTested({ providers: [Guarded] });
  await jobs.enqueue('email', 'mail');
  await jobs.enqueue('email', 'evil');
  expect(await testing.drain()).toMatchObject({ completed: 1, failed: 1, retry: 0 });
  expect(seen).toEqual(['sent mail']);
});

it('jobs with costs of their own wait in a drain until the shared limit has enough', async () => {
  const starts: [number, number][] = [];
  const handler = emailHandler(({ payload: { n }, claimedAt }) => void starts.push([n, claimedAt.getTime()]), {
    limits: [{ limit: 'partner', cost: { most: 4 } }],
  });
  const limits = { partner: { rateLimit: { limit: 1, periodMs: 60_000, burst: 4 } } };
  const { testing, jobs } = await startTested({ providers: [handler], jobs: { limits } });
  for (const n of [1, 3, 2]) {
    await jobs.enqueue('email', { n }, n > 1 ? { limitCosts: { partner: n } } : {});
  }
  await expect(jobs.enqueue('email', { n: 5 }, { limitCosts: { partner: 5 } })).rejects.toThrow(InvalidOptionError);
  expect(await testing.drain()).toMatchObject({ completed: 3 });
  expect(starts.map(([n]) => n)).toEqual([1, 3, 2]);
  expect(starts[2]![1] - starts[0]![1]).toBeGreaterThanOrEqual(120_000);
  expect(starts[2]![1] - starts[0]![1]).toBeLessThan(122_000);
});

it('limits and groups hold in a drain: one job of a group at a time, and no more starts than the rate allows', async () => {
  const starts: [string, number][] = [];
  let running = 0;
  const handler = emailHandler(
    async ({ group, claimedAt }) => {
      expect(++running).toBe(1);
      starts.push([group!, claimedAt.getTime()]);
      await sleep(2);
      running--;
    },
    { maxRunning: 1, rateLimit: { limit: 1, periodMs: 60_000 } },
  );
  const { testing, jobs } = await startTested({ providers: [handler] });
  await jobs.enqueueMany(
    'email',
    ['a', 'a', 'b'].map((group) => ({ payload: { n: 1 }, group })),
  );
  expect(testing.enqueued('email').map(({ options }) => options.group)).toEqual(['a', 'a', 'b']);
  expect(await testing.drain()).toMatchObject({ completed: 3 });
  expect(starts.map(([group]) => group)).toEqual(['a', 'b', 'a']);
  expect(starts.map(([, at]) => at - starts[0]![1])).toEqual([0, 60_000, 120_000]);
});

describe('advance', () => {
  it('runs a month of recurring jobs at once, each at its time', async () => {
    const days: string[] = [];
    const handler = emailHandler(({ claimedAt }) => void days.push(claimedAt.toISOString()));
    const { testing, jobs } = await startTested({
      providers: [handler],
      testing: { now: new Date('2030-03-01T12:00:00Z') },
    });
    await jobs.schedules.upsert('email', 'nightly', { cron: '0 3 * * *', timeZone: 'UTC' });
    const startedAt = performance.now();
    expect(await testing.advance(31 * 24 * HOUR)).toMatchObject({ completed: 31 });
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(days[0]).toBe('2030-03-02T03:00:00.000Z');
    expect(days[30]).toBe('2030-04-01T03:00:00.000Z');
    expect(testing.now.toISOString()).toBe('2030-04-01T12:00:00.000Z');
  });

  it('runs a recurring job that its handler declares, in its time zone', async () => {
    const days: string[] = [];
    @Injectable()
    class Reports {
      @RecurringJob({ cron: '0 7 * * *', timeZone: 'Europe/Berlin' })
      @JobHandler('report')
      report({ claimedAt }: Job) {
        days.push(claimedAt.toISOString());
      }
    }
    const { testing } = await startTested({
      providers: [Reports],
      testing: { now: new Date('2030-01-01T12:00:00Z') },
    });
    expect(await testing.advance(7 * 24 * HOUR)).toMatchObject({ completed: 7 });
    expect(days[0]).toBe('2030-01-02T06:00:00.000Z');
  });

  it('ends a handler at its timeout, which follows this clock', async () => {
    let reason: unknown;
    const handler = emailHandler(
      async ({ signal }) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        reason = signal.reason;
      },
      { timeoutMs: 30 * SECOND, maxAttempts: 1 },
    );
    const { testing, jobs } = await startTested({ providers: [handler] });
    const job = await jobs.enqueue('email', { n: 1 });
    await testing.advance(29 * SECOND);
    expect(await job.get()).toMatchObject({ status: 'processing' });
    expect(await testing.advance(2 * SECOND)).toMatchObject({ failed: 1 });
    expect(reason).toMatchObject({ name: 'HandlerTimeoutError' });
  });

  it('keeps the claim of a long job alive by heartbeats, and reclaims that of a dead consumer', async () => {
    let finish!: () => void;
    const handler = emailHandler(() => new Promise<void>((resolve) => (finish = resolve)));
    const { testing, jobs } = await startTested({ providers: [handler], jobs: { visibilityMs: 30_000 } });
    const long = await jobs.enqueue('email', { n: 1 });
    await testing.advance(10 * 60 * SECOND);
    expect(await long.get()).toMatchObject({ status: 'processing', attempts: 1 });
    finish();
    await testing.drain();
    expect(await long.get()).toMatchObject({ status: 'completed' });

    const others = jobs.queue('manual');
    await others.enqueue({});
    expect(await others.claim()).toMatchObject({ attempt: 1 });
    await testing.advance(2 * 60 * SECOND);
    expect((await others.stats()).pending).toBe(1);
    expect(await others.claim()).toMatchObject({ attempt: 2 });
  });
});
