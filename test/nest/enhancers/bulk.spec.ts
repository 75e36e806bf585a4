// Enhancers of bulk handlers: guards, interceptors and filters act on each job separately, and the others of its call
// continue.
import {
  Catch,
  Injectable,
  Scope,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { map } from 'rxjs';
import {
  defineJob,
  getJob,
  JobHandler,
  JobPayload,
  JobQueueService,
  NonRetryableError,
  type Job,
  type JobQueueModuleOptions,
} from 'nest-job-queue';
import { z } from 'zod';
import { APP_GUARD } from '@nestjs/core';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { compileApp, onEachStore, passTime, startApp, type TestApp } from '../app.js';
import { sleep } from '../../support/faults/wait.js';

const BULK = { bulk: { size: 10, waitMs: 30 }, maxAttempts: 2, backoff: 0 } as const;

/** Denies jobs whose payload is 2. */
const guard: CanActivate = {
  canActivate: async (context: ExecutionContext) => {
    await sleep(5);
    return getJob<number>(context).payload !== 2;
  },
};

/** Adds its own job to the result of each job. */
const interceptor: NestInterceptor = {
  intercept: (context, next) =>
    next.handle().pipe(map((result) => `${String(result)} of ${String(getJob(context).payload)}`)),
};

@Catch()
class Filter implements ExceptionFilter {
  catch(error: Error, host: ExecutionContext) {
    throw new NonRetryableError(`${error.message} in ${String(getJob(host).payload)}`);
  }
}

/** Runs jobs with the payloads 1, 2, 3; returns what became of each, in words. */
async function outcomes(name: string, app: TestApp): Promise<string[]> {
  const started = await startApp(app);
  const jobs = started.get(JobQueueService);
  const handles = await jobs.enqueueMany(
    name,
    [1, 2, 3].map((payload) => ({ payload })),
  );
  await passTime(started);
  return Promise.all(
    handles.map((handle) =>
      handle.result().then(String, (error: { reason: string; attempts: number }) => {
        return `${error.reason} after ${error.attempts}`;
      }),
    ),
  );
}

function bulkOf(name: string, handle: (jobs: Job[]) => unknown[]) {
  @JobHandler(name, BULK)
  class Handler {
    handle(jobs: Job[]) {
      return handle(jobs);
    }
  }
  return Handler;
}

onEachStore('a bulk handler', () => {
  it('gets the jobs that its guard lets through; a denied one fails alone, without a retry', async () => {
    const name = uniqueQueueName();
    const calls: unknown[][] = [];
    const Handler = bulkOf(name, (jobs) => {
      calls.push(jobs.map(({ payload }) => payload));
      return jobs.map(() => 'done');
    });
    UseGuards(guard)(Handler);
    expect(await outcomes(name, { providers: [Handler] })).toEqual(['done', 'Forbidden resource after 1', 'done']);
    expect(new Set(calls.flat())).toEqual(new Set([1, 3]));
  });

  it('has interceptors around each job, and each result is its own', async () => {
    const name = uniqueQueueName();
    const Handler = bulkOf(name, (jobs) => jobs.map(() => 'done'));
    UseInterceptors(interceptor)(Handler);
    expect(await outcomes(name, { providers: [Handler] })).toEqual(['done of 1', 'done of 2', 'done of 3']);
  });

  it('has filters that decide on the error of each job', async () => {
    const name = uniqueQueueName();
    const Handler = bulkOf(name, (jobs) => jobs.map(({ payload }) => (payload === 2 ? new Error('bad') : 'done')));
    UseFilters(Filter)(Handler);
    expect(await outcomes(name, { providers: [Handler] })).toEqual(['done', 'bad in 2 after 1', 'done']);
  });

  it('tries an error of the handler again, as without them', async () => {
    const name = uniqueQueueName();
    const Handler = bulkOf(name, (jobs) => jobs.map(() => new Error('away')));
    UseGuards({ canActivate: () => true })(Handler);
    expect(await outcomes(name, { providers: [Handler] })).toEqual(Array(3).fill('away after 2'));
  });

  it('runs behind global guards, if these apply to jobs, and its schema reads before them', async () => {
    const Numbers = defineJob(uniqueQueueName(), { payload: z.number().transform((n) => n + 1) });
    @JobHandler(Numbers, BULK)
    class Handler {
      handle(jobs: Job<number>[]) {
        return jobs.map(({ payload }) => payload);
      }
    }
    const jobs: JobQueueModuleOptions = { globalEnhancers: ['guards'] };
    const providers = [Handler, { provide: APP_GUARD, useValue: guard }];
    expect(await outcomes(Numbers.name, { jobs, providers })).toEqual(['Forbidden resource after 1', '3', '4']);
  });
});

onEachStore('the boot refuses a bulk handler', () => {
  const pipe = { transform: (value: unknown) => value };

  it('with pipes, or a parameter for them', async () => {
    @JobHandler(uniqueQueueName(), BULK)
    @UsePipes(pipe)
    class Piped {
      handle() {}
    }
    @JobHandler(uniqueQueueName(), BULK)
    class Decorated {
      handle(@JobPayload() payload: unknown) {
        return payload;
      }
    }
    for (const provider of [Piped, Decorated]) {
      await expect((await compileApp({ providers: [provider] })).init()).rejects.toThrow(
        '.bulk: expected no pipes and no decorated parameters, since it gets several jobs, found some.',
      );
    }
  });

  it('with a REQUEST-scoped guard: one call has several jobs', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Guard implements CanActivate {
      canActivate = () => true;
    }
    @JobHandler(uniqueQueueName(), BULK)
    @UseGuards(Guard)
    class Handler {
      handle() {}
    }
    await expect((await compileApp({ providers: [Handler] })).init()).rejects.toThrow(
      '.bulk: expected a provider of the default scope',
    );
  });
});
