// Guards, interceptors, pipes and exception filters around handlers, by Nest's own means.
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  Catch,
  Injectable,
  Scope,
  SetMetadata,
  UseFilters,
  UseGuards,
  UseInterceptors,
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR, Reflector } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { expect, it, jest } from '@jest/globals';
import { map } from 'rxjs';
import { getJob, JobFailedError, JobHandler, JobQueueService, RetryLaterError, type Job } from 'nest-job-queue';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { compileApp, KeptLog, onEachStore, passTime, startApp, type TestApp } from '../app.js';

/** Runs one job in an app, and returns its result, or the error of its failure. */
async function runOne(name: string, app: TestApp, payload: unknown = {}): Promise<unknown> {
  const started = await startApp(app);
  const job = await started.get(JobQueueService).enqueue(name, payload, { backoff: 0 });
  await passTime(started);
  return job.result().catch((error: unknown) => error);
}

const denies: CanActivate = { canActivate: () => false };

/** Adds a word to the result of the handler. */
function adds(word: string): NestInterceptor {
  return { intercept: (_context, next) => next.handle().pipe(map((result) => `${String(result)} ${word}`)) };
}

onEachStore('a guard', () => {
  it('sees the job, its handler and their metadata, and lets it through', async () => {
    const name = uniqueQueueName();
    const seen: unknown[] = [];
    @Injectable()
    class RolesGuard implements CanActivate {
      constructor(private readonly reflector: Reflector) {}

      canActivate(context: ExecutionContext): boolean {
        const roles: unknown = this.reflector.get('roles', context.getHandler());
        seen.push(context.getType(), context.getClass().name, context.getHandler().name, roles);
        seen.push(getJob(context).payload);
        return true;
      }
    }
    @Injectable()
    class Handlers {
      @JobHandler(name)
      @SetMetadata('roles', ['admin'])
      @UseGuards(RolesGuard)
      send() {
        return 'sent';
      }
    }
    expect(await runOne(name, { providers: [Handlers] }, { to: 'ada' })).toBe('sent');
    expect(seen).toEqual(['job', 'Handlers', 'send', ['admin'], { to: 'ada' }]);
  });

  it('that denies fails the job without a retry, and the log says it once', async () => {
    const name = uniqueQueueName();
    const log = new KeptLog();
    let runs = 0;
    @JobHandler(name, { maxAttempts: 5 })
    @UseGuards(denies)
    class Handler {
      handle() {
        runs++;
      }
    }
    const error = await runOne(name, { providers: [Handler], log });
    expect(error).toBeInstanceOf(JobFailedError);
    expect(error).toMatchObject({ attempts: 1, errorName: 'ForbiddenException', reason: 'Forbidden resource' });
    expect(runs).toBe(0);
    expect(log.lines.filter((line) => line.includes('Forbidden resource'))).toHaveLength(1);
  });

  it('that cannot decide lets the job be tried again', async () => {
    const name = uniqueQueueName();
    const guard = { canActivate: () => Promise.reject(new Error('no database')) };
    @JobHandler(name, { maxAttempts: 2 })
    @UseGuards(guard)
    class Handler {
      handle() {}
    }
    expect(await runOne(name, { providers: [Handler] })).toMatchObject({ attempts: 2, reason: 'no database' });
  });

  it('is injected: a class with dependencies, a transient one', async () => {
    const name = uniqueQueueName();
    @Injectable()
    class Tenants {
      readonly known = 'acme';
    }
    @Injectable({ scope: Scope.TRANSIENT })
    class TenantGuard implements CanActivate {
      constructor(private readonly tenants: Tenants) {}

      canActivate(context: ExecutionContext): boolean {
        return getJob(context).metadata.tenant === this.tenants.known;
      }
    }
    @JobHandler(name)
    @UseGuards(TenantGuard)
    class Handler {
      handle() {
        return 'let in';
      }
    }
    const app = await startApp({ providers: [Handler, Tenants] });
    const jobs = app.get(JobQueueService);
    const allowed = await jobs.enqueue(name, {}, { metadata: { tenant: 'acme' } });
    const denied = await jobs.enqueue(name, {}, { metadata: { tenant: 'other' } });
    expect(await allowed.result()).toBe('let in');
    await expect(denied.result()).rejects.toMatchObject({ errorName: 'ForbiddenException' });
  });
});

onEachStore('an interceptor', () => {
  it('acts around the handler, those of the class outside of those of the method', async () => {
    const name = uniqueQueueName();
    @Injectable()
    @UseInterceptors(adds('class'))
    class Handlers {
      @JobHandler(name)
      @UseInterceptors(adds('method'))
      run() {
        return 'ran';
      }
    }
    expect(await runOne(name, { providers: [Handlers] })).toBe('ran method class');
  });

  it('that throws fails the attempt, and the handler can be tried again', async () => {
    const name = uniqueQueueName();
    const throws: NestInterceptor = {
      intercept(_context: ExecutionContext, next: CallHandler) {
        return next.handle().pipe(
          map(() => {
            throw new Error('too late');
          }),
        );
      },
    };
    let runs = 0;
    @JobHandler(name, { maxAttempts: 2 })
    @UseInterceptors(throws)
    class Handler {
      handle() {
        runs++;
      }
    }
    expect(await runOne(name, { providers: [Handler] })).toMatchObject({ attempts: 2, reason: 'too late' });
    expect(runs).toBe(2);
  });
});

onEachStore('an exception filter', () => {
  @Catch()
  class Filter implements ExceptionFilter {
    constructor(private readonly decide: (error: unknown, job: Job) => unknown) {}

    catch(error: unknown, host: ArgumentsHost): unknown {
      return this.decide(error, getJob(host));
    }
  }

  function failing(name: string, filter: Filter, maxAttempts = 2) {
    let runs = 0;
    @JobHandler(name, { maxAttempts })
    @UseFilters(filter)
    class Handler {
      handle() {
        runs++;
        throw new TypeError('as thrown');
      }
    }
    return { Handler, runs: () => runs };
  }

  it.each([
    ['a value', () => 'all is well'],
    ['nothing', () => undefined],
    ['a promise', () => Promise.resolve('all is well')],
  ])('that returns %s does not turn a failure into a success, and the log says it once', async (_, decide) => {
    const name = uniqueQueueName();
    const log = new KeptLog();
    const { Handler } = failing(name, new Filter(decide), 1);
    const error = await runOne(name, { providers: [Handler], log });
    expect(error).toMatchObject({ attempts: 1, errorName: 'TypeError', reason: 'as thrown' });
    expect(log.lines.filter((line) => line.includes('as thrown'))).toHaveLength(1);
  });

  it('decides by throwing: no retry', async () => {
    const name = uniqueQueueName();
    const { NonRetryableError } = await import('nest-job-queue');
    const filter = new Filter((error) => {
      throw new NonRetryableError('not again', { cause: error });
    });
    const { Handler } = failing(name, filter, 5);
    expect(await runOne(name, { providers: [Handler] })).toMatchObject({ attempts: 1, reason: 'not again' });
  });

  it('decides by throwing: later, without an attempt used', async () => {
    const name = uniqueQueueName();
    let snoozes = 0;
    const filter = new Filter((error) => {
      throw snoozes++ === 0 ? new RetryLaterError(1) : error;
    });
    const { Handler, runs } = failing(name, filter, 1);
    expect(await runOne(name, { providers: [Handler] })).toMatchObject({ attempts: 1, reason: 'as thrown' });
    expect(runs()).toBe(2);
  });

  it('gives a denied job another attempt', async () => {
    const name = uniqueQueueName();
    let asked = 0;
    const filter = new Filter(() => {
      throw new Error('ask again');
    });
    @JobHandler(name, { maxAttempts: 3 })
    @UseGuards({ canActivate: () => ++asked === 2 })
    @UseFilters(filter)
    class Handler {
      handle() {
        return 'let in';
      }
    }
    expect(await runOne(name, { providers: [Handler] })).toBe('let in');
  });

  it("takes only errors that it catches, and the method's comes before the class's", async () => {
    const name = uniqueQueueName();
    @Catch(RangeError)
    class Ranges implements ExceptionFilter {
      catch(): never {
        throw new Error('by the ranges');
      }
    }
    @Injectable()
    @UseFilters(
      new Filter(() => {
        throw new Error('by the class');
      }),
    )
    class Handlers {
      @JobHandler(name, { maxAttempts: 1 })
      @UseFilters(Ranges)
      run(job: Job<string>) {
        throw job.payload === 'range' ? new RangeError('r') : new TypeError('t');
      }
    }
    const app = await startApp({ providers: [Handlers] });
    const jobs = app.get(JobQueueService);
    const range = await jobs.enqueue(name, 'range');
    const type = await jobs.enqueue(name, 'type');
    await expect(range.result()).rejects.toMatchObject({ reason: 'by the ranges' });
    await expect(type.result()).rejects.toMatchObject({ reason: 'by the class' });
  });
});

function handler(name: string) {
  @JobHandler(name, { maxAttempts: 1 })
  class Handler {
    handle() {
      return 'ran';
    }
  }
  return Handler;
}

onEachStore('global enhancers', () => {
  const globals = [
    { provide: APP_GUARD, useValue: denies },
    { provide: APP_INTERCEPTOR, useValue: adds('global') },
  ];

  it('leave jobs alone by default', async () => {
    const name = uniqueQueueName();
    expect(await runOne(name, { providers: [handler(name), ...globals] })).toBe('ran');
  });

  it('hold for jobs by kind', async () => {
    const name = uniqueQueueName();
    const jobs = { globalEnhancers: ['interceptors'] as const };
    expect(await runOne(name, { jobs, providers: [handler(name), ...globals] })).toBe('ran global');
  });

  it('hold for jobs all together', async () => {
    const name = uniqueQueueName();
    const error = await runOne(name, { jobs: { globalEnhancers: true }, providers: [handler(name), ...globals] });
    expect(error).toMatchObject({ errorName: 'ForbiddenException' });
  });

  it('of a scope are refused', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Scoped implements CanActivate {
      canActivate = () => true;
    }
    const name = uniqueQueueName();
    const app = await compileApp({
      jobs: { globalEnhancers: true },
      providers: [handler(name), { provide: APP_GUARD, useClass: Scoped }],
    });
    await expect(app.init()).rejects.toThrow(
      'globalEnhancers: expected global guards of the default scope, found a scoped one, Scoped.',
    );
  });

  it('of an unknown kind are refused', async () => {
    const jobs = { globalEnhancers: ['guard'] };
    await expect(compileApp({ jobs: jobs as never })).rejects.toThrow(
      'globalEnhancers: expected true, false or a list of guards, interceptors, pipes, filters',
    );
  });
});

onEachStore('a handler with enhancers', () => {
  it('may be a method that a test replaces', async () => {
    const name = uniqueQueueName();
    @JobHandler(name)
    @UseInterceptors(adds('inside'))
    class Handler {
      handle() {
        return 'original';
      }
    }
    const app = await startApp({ providers: [Handler] });
    app.get(Handler).handle = () => 'replaced';
    const job = await app.get(JobQueueService).enqueue(name, {});
    expect(await job.result()).toBe('replaced inside');
  });

  it('whose class a factory makes is refused, where Nest would skip its enhancers', async () => {
    @Injectable()
    class Guard implements CanActivate {
      canActivate = () => true;
    }
    @JobHandler(uniqueQueueName())
    @UseGuards(Guard)
    class Handler {
      handle() {}
    }
    const app = await compileApp({ providers: [{ provide: Handler, useFactory: () => new Handler() }] });
    await expect(app.init()).rejects.toThrow(
      'expected enhancers that Nest makes: those of a class in providers, found Guard on what a factory or value provides.',
    );
  });

  it('uses no AsyncLocalStorage, which below Node 24 slows down every promise of the process', async () => {
    const name = uniqueQueueName();
    @JobHandler(name)
    @UseGuards({ canActivate: () => true })
    @UseInterceptors(adds('intercepted'))
    class Handler {
      handle() {
        return 'handled';
      }
    }
    const storage = jest.spyOn(AsyncLocalStorage.prototype, 'run');
    expect(await runOne(name, { providers: [Handler] })).toBe('handled intercepted');
    expect(storage).not.toHaveBeenCalled();
  });

  it('that an object replaces in a test runs without them', async () => {
    const name = uniqueQueueName();
    @JobHandler(name)
    @UseGuards(denies)
    class Handler {
      handle(): string {
        return 'original';
      }
    }
    expect(await runOne(name, { providers: [{ provide: Handler, useValue: { handle: () => 'double' } }] })).toBe(
      'double',
    );
  });
});

it('a context that is not of a job has no job', () => {
  expect(() => getJob(new ExecutionContextHost([]))).toThrow(
    'getJob: expected a context of the type \'job\', found "http".',
  );
});
