import type { ModuleMetadata, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import type { JobMetadata } from '../../queue/model/metadata.js';
import { show } from '../../queue/errors/show.js';
import { ANY_NAME } from '../../queue/validation/names.js';
import { checkKnown, checkNestModules, checkObject } from '../../queue/validation/validate-options.js';
import { JobQueueTestingModule, JobQueueTesting } from './job-queue-testing.js';
import { HandlerRegistry } from '../../nest/handlers/handler-registry.js';
import type { JobQueueModuleOptions } from '../../nest/job-queue.options.js';
import { JobQueueService } from '../../nest/service/job-queue.service.js';
import type { JobQueueMiddleware } from '../../worker/handlers/attempt-middleware.js';

/** The options of `runHandler`: the test job, and the providers beside the handler. */
export interface RunHandlerOptions extends Pick<ModuleMetadata, 'imports' | 'providers'> {
  /** The name of the job, where the class handles several. @default the only one */
  name?: string | undefined;
  /** The attempt of the job, from 1. @default 1 */
  attempt?: number | undefined;
  /** The most attempts of the job. @default as many as `attempt`, so that a failure is the last */
  maxAttempts?: number | undefined;
  /** The metadata of the enqueue. */
  metadata?: JobMetadata | undefined;
  /** The signals that the job has got, by their names: the data that `job.waitFor` returns. */
  signals?: Readonly<Record<string, unknown>> | undefined;
  /** Options of `JobQueueModule.forRoot`, such as `middleware`. */
  jobs?: Omit<JobQueueModuleOptions, 'redis' | 'requireRedis' | 'audit'> | undefined;
}

/**
 * Runs one attempt of a handler with a made-up job. Its schema, the middleware and its timeout apply as in production.
 *
 * @param handler the class of the handler, made by Nest with `providers`, or an instance of it
 * @returns the handler's result
 * @throws the handler's error, such as a JobWaitsError for a signal that is not given. InvalidOptionError for a class without `@JobHandler`
 * @example
 * const result = await runHandler(EmailHandler, { to: 'ada@example.com' }, { providers: [{ provide: Mailer, useValue: mailer }] });
 */
export async function runHandler<Result = unknown>(
  handler: Type | object,
  payload: unknown,
  options: RunHandlerOptions = {},
): Promise<Result> {
  checkKnown('runHandler', options, [
    'name',
    'attempt',
    'maxAttempts',
    'metadata',
    'signals',
    'imports',
    'providers',
    'jobs',
  ]);
  checkNestModules('runHandler.imports', options.imports);
  checkNestModules('runHandler.providers', options.providers);
  const { attempt = 1, maxAttempts = attempt, metadata, signals = {} } = options;
  checkObject('runHandler.signals', 'an object with the data of each signal', signals);
  const outcome: { result?: unknown; error?: unknown } = {};
  const app = await NestFactory.createApplicationContext(moduleOf(handler, options, keep(outcome)), {
    logger: false,
    abortOnError: false,
  });
  try {
    const { queue, name } = jobOf(app.get(HandlerRegistry, { strict: false }), handler, options.name);
    const testing = app.get(JobQueueTesting);
    const jobs = app.get(JobQueueService);
    const job = { queue, name, attempt };
    await testing.runAttempt(job, async () => {
      const made = await jobs.enqueue(name, payload, { queue, maxAttempts, ...(metadata && { metadata }) });
      for (const [signal, data] of Object.entries(signals)) {
        await jobs.signal(name, made.id, signal, data, { queue });
      }
      return made;
    });
    if ('error' in outcome || testing.errors.length > 0) {
      throw outcome.error ?? testing.errors[0]!.error;
    }
    return outcome.result as Result;
  } finally {
    await app.close();
  }
}

function moduleOf(
  handler: Type | object,
  { jobs, imports, providers }: RunHandlerOptions,
  keeps: JobQueueMiddleware,
) {
  const provider =
    typeof handler === 'function' ? (handler as Type) : { provide: handler.constructor, useValue: handler };
  const middleware = [...(jobs?.middleware ?? []), keeps];
  return {
    module: class HandlerUnderTest {},
    imports: [JobQueueTestingModule.forTest({ ...jobs, middleware }), ...(imports ?? [])],
    providers: [provider, ...(providers ?? [])],
  };
}

/** Keeps the outcome of the handler. As the innermost middleware it gets the result before it is JSON. */
function keep(outcome: { result?: unknown; error?: unknown }): JobQueueMiddleware {
  return {
    attempt: async (_job, next) => {
      try {
        return (outcome.result = await next());
      } catch (error) {
        outcome.error = error;
        throw error;
      }
    },
  };
}

function jobOf(handlers: HandlerRegistry, handler: Type | object, wanted: string | undefined) {
  const all = handlers.queueNames.flatMap((queue) =>
    Object.keys(handlers.handlersOf(queue)).map((name) => ({ queue, name })),
  );
  const exact = all.filter(({ name }) => wanted === undefined || name === wanted);
  const found = (exact.length > 0 ? exact : all.filter(({ name }) => name === ANY_NAME)).map(({ queue, name }) => ({
    queue,
    name: name === ANY_NAME ? (wanted ?? queue) : name,
  }));
  if (found.length !== 1) {
    const type = typeof handler === 'function' ? handler.name : handler.constructor.name;
    const names = all.map(({ name }) => show(name)).join(', ') || 'none';
    throw new InvalidOptionError(
      wanted === undefined ? `runHandler(${type})` : 'runHandler.name',
      wanted === undefined ? 'one @JobHandler' : `a name that ${type} handles`,
      wanted === undefined ? names : show(wanted),
      all.length > 1 ? `Say which by { name }: ${names}.` : '',
    );
  }
  return found[0]!;
}
