// No error about an option quotes an encryption key or a password, whatever option it was given to by mistake. The entry points
// and their options are read from the types of the package.
import { describe, expect, it } from '@jest/globals';
import type { DynamicModule, Type } from '@nestjs/common';
import { z } from 'zod';
import {
  JobHandler,
  JobPayload,
  JobQueueModule,
  OnJobEvent,
  OnJobFailed,
  OnTopic,
  RecurringJob,
  type JobQueueModuleOptions,
} from 'nest-job-queue';
import {
  awaitAll,
  defineBulkHandler,
  defineHandler,
  defineJob,
  defineTopic,
  encrypted,
  InvalidOptionError,
  JobDefinition,
  JobNotFoundError,
  JobQueue,
  ScheduleNotFoundError,
  TopicClient,
  Worker,
} from 'nest-job-queue/core';
import { JobQueueDashboardModule } from 'nest-job-queue/dashboard';
import { JobMetrics, JobQueueMetricsModule } from 'nest-job-queue/metrics';
import * as outbox from 'nest-job-queue/outbox';
import { sentryJobs, type SentrySdk } from 'nest-job-queue/sentry';
import { JobQueueTesting, JobQueueTestingModule, runHandler } from 'nest-job-queue/testing';
import { jobTracing } from 'nest-job-queue/tracing';
import { resolveModuleOptions } from '#nest/job-queue.options.js';
import { resolveRunWorkersOptions } from '#processes/options.js';
import { compileApp } from '../../nest/app.js';
import { KEY, refusal, WRONG_FOR_KEYS } from '../../support/queue/wrong-keys.js';
import { connect } from '../../support/redis/redis.js';
import { optionPaths } from '../../support/sources/option-paths.js';
import { VERBS } from '../../support/queue/verb-arguments.js';
import { someOf } from '../../support/run/samples.js';
import { callAt } from '../../support/queue/bad-arguments.js';
import { coreQueue } from '../../support/queue/core-queue.js';

const redis = connect({ lazyConnect: true });
/** An SDK with any method. */
const SENTRY = new Proxy({}, { get: () => () => undefined }) as SentrySdk;
const Greet = defineJob('greet', { payload: z.object({ to: z.string() }) });

/** Compiles an app in memory with these providers and imports. */
async function boot(providers: Type[], imports: DynamicModule[] = []): Promise<void> {
  const app = await compileApp({ module: JobQueueTestingModule.forTest({ worker: false }), providers, imports });
  try {
    await app.init();
  } finally {
    await app.close();
  }
}

/** Boots an app with a class whose method is decorated. */
function bootMethod(decorate: MethodDecorator): Promise<void> {
  class Provider {
    handle(): void {}
  }
  decorate(Provider.prototype, 'handle', Object.getOwnPropertyDescriptor(Provider.prototype, 'handle')!);
  return boot([Provider]);
}

/** Boots an app with a handler, which is decorated once more. */
function bootClass(...decorators: ClassDecorator[]): Promise<void> {
  class Provider {
    handle(): void {}
  }
  decorators.forEach((decorate) => decorate(Provider));
  return boot([Provider]);
}

type Way = (given: never) => unknown;

/** Ways that start an app for each value. They get each option, but no parts of one. */
const SLOW: Record<string, Way> = {
  JobHandler: (given) => bootClass(JobHandler('a', given)),
  RecurringJob: (given) =>
    bootClass(JobHandler('a'), RecurringJob(Object.assign({ everyMs: 1_000 }, given), given)),
  OnJobEvent: (given) => bootMethod(OnJobEvent('failed', given) as MethodDecorator),
  OnJobFailed: (given) => bootMethod(OnJobFailed('a', given)),
  OnTopic: (given) => bootMethod(OnTopic('a', given)),
  'JobOutboxModule.forRoot': (given) => boot([], [outbox.JobOutboxModule.forRoot(given)]),
  'JobOutboxModule.forRootAsync': (given) =>
    boot([], [outbox.JobOutboxModule.forRootAsync(Object.assign({ useFactory: () => given }, given))]),
  runHandler: (given) =>
    runHandler(
      class {
        handle = () => 1;
      },
      {},
      given,
    ),
};

/** The other entry points with options, each with the way to give them. */
const WAYS: Record<string, Way> = {
  'new JobQueue': (given) => new JobQueue(redis, 'a', given),
  'new JobDefinition': (given) => new JobDefinition('a', given),
  'new Worker': (given) => new Worker([{ queue: new JobQueue(redis, 'a'), handlers: {} }], given),
  'new JobMetrics': (given) => new JobMetrics(given),
  'new TopicClient': (given) => new TopicClient(redis, given),
  'new JobQueueTesting': (given) => new JobQueueTesting(given),
  'JobQueueModule.forRoot': (given) => (JobQueueModule.forRoot(given), resolveModuleOptions(given)),
  'JobQueueModule.forRootAsync': (given) => {
    JobQueueModule.forRootAsync(Object.assign({ useFactory: (): JobQueueModuleOptions => ({}) }, given));
    resolveModuleOptions(given);
  },
  'JobQueueDashboardModule.forRoot': (given) => JobQueueDashboardModule.forRoot(given),
  'JobQueueDashboardModule.forRootAsync': (given) =>
    JobQueueDashboardModule.forRootAsync(Object.assign({ useFactory: () => ({}) }, given)),
  'JobQueueMetricsModule.forRoot': (given) => JobQueueMetricsModule.forRoot(given),
  'JobQueueTestingModule.forTest': (given) => JobQueueTestingModule.forTest(given),
  'JobQueueTestingModule.forApp': (given) => new JobQueueTesting(given),
  awaitAll: (given) => awaitAll([], given),
  defineJob: (given) => defineJob('a', given),
  defineTopic: (given) => defineTopic('a', given),
  encrypted: (given) => encrypted([{ id: 'k', key: KEY }], given),
  defineHandler: (given) => defineHandler(Greet, () => 1, given),
  defineBulkHandler: (given) => defineBulkHandler(Greet, () => undefined, given),
  JobPayload: (given) => JobPayload(given),
  jobTracing: (given) => jobTracing(given),
  sentryJobs: (given) => (sentryJobs(SENTRY, given), sentryJobs(given)),
  runWorkers: (given) => resolveRunWorkersOptions(given),
  fromPg: (given) => outbox.fromPg({} as never, given),
  fromMysql2: (given) => outbox.fromMysql2(given),
  fromTypeOrm: (given) => outbox.fromTypeOrm(given),
  fromKnex: (given) => outbox.fromKnex(given),
  fromKysely: (given) => outbox.fromKysely({} as never, given),
  fromDrizzle: (given) => outbox.fromDrizzle({} as never, given),
  fromLibsql: (given) => outbox.fromLibsql(given),
  fromSequelize: (given) => outbox.fromSequelize(given),
  fromMikroOrm: (given) => outbox.fromMikroOrm({} as never, given),
  fromPrisma: (given) => outbox.fromPrisma({} as never, given),
  fromBetterSqlite3: (given) => outbox.fromBetterSqlite3(given),
};

const SHOWN = KEY.slice(0, 20);
const ALL = Object.values(WRONG_FOR_KEYS);
const SOME = [KEY, { [KEY]: KEY }, [KEY]];
const paths = optionPaths();

/** Returns options with a value at a path, such as `queues.*.codec`. */
function givenAt(path: string, value: unknown): Record<string, unknown> {
  const [first = '', ...rest] = path.split('.');
  return { [first === '*' ? 'a' : first]: rest.length === 0 ? value : givenAt(rest.join('.'), value) };
}

/** Calls a way with each value. Returns the errors, and fails if one quotes the key. */
async function errorsOf(way: Way, values: readonly unknown[]): Promise<unknown[]> {
  const errors: unknown[] = [];
  for (const value of values) {
    const { error, said } = await refusal(() => way(value as never));
    if (error instanceof JobNotFoundError || error instanceof ScheduleNotFoundError) continue; // they name the id
    expect(said).not.toContain(SHOWN);
    errors.push(...(error === undefined ? [] : [error]));
  }
  return errors;
}

it('knows a way to give options to each entry point that has some', () => {
  expect([...paths.keys()].toSorted()).toEqual([...Object.keys(WAYS), ...Object.keys(SLOW)].toSorted());
});

describe('quotes no key in the place of an option, or of a part of one:', () => {
  it.each(Object.entries(WAYS))('%s', async (name, way) => {
    const places = [
      ...paths.get(name)!,
      'unknown',
      'redis.password',
      'redis.unknown',
      'queues.*.unknown',
      'imports',
    ];
    const given = someOf(
      places.flatMap((path) => ALL.map((value) => givenAt(path, value))),
      11,
    );
    const nested = places.map((path) => givenAt(path, { codec: KEY, redis: KEY, password: KEY, [KEY]: KEY }));
    await errorsOf(way, [...ALL, ...given, ...nested]);
  });

  it.each(Object.entries(SLOW))(
    '%s, in an app',
    async (name, way) => {
      const tops = new Set(paths.get(name)!.map((path) => path.split('.')[0]!));
      tops.delete('inject'); // tokens of Nest, which are names
      const given = someOf(
        [...tops, 'unknown'].flatMap((path) => SOME.map((value) => givenAt(path, value))),
        7,
      );
      const errors = await errorsOf(way, [...SOME, ...given]);
      expect(errors.filter((error) => error instanceof InvalidOptionError).length).toBeGreaterThan(0);
    },
    120_000,
  );

  it.each(Object.entries(VERBS))('%s of a queue', async (verb, parameters) => {
    const call = callAt(coreQueue().queue, verb);
    for (const [at, [, bads]] of parameters.entries()) {
      const names = bads.flatMap((bad) => (typeof bad === 'object' && bad !== null ? Object.keys(bad) : []));
      const values = [...SOME, ...names.flatMap((name) => SOME.map((value) => ({ [name]: value })))];
      await errorsOf((given) => call(...parameters.map(([sound], i) => (i === at ? given : sound))), values);
    }
  });
});

it.each<[string, () => unknown]>([
  ['codec', () => new JobQueue(redis, 'a', { codec: 'a-password' as never })],
  ['codec in a list', () => resolveModuleOptions({ queues: { a: { codec: ['a-password'] as never } } })],
  ['codec of all', () => resolveModuleOptions({ codec: { name: 'a-password' } as never })],
])('a secret option quotes nothing at all: %s', async (_, call) => {
  const { error, said } = await refusal(call);
  expect(error).toBeInstanceOf(InvalidOptionError);
  expect(said).not.toContain('a-password');
});
