// Nest apps of a test: made with Nest's own testing module, closed after the test, their log kept.
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe } from '@jest/globals';
import type { INestApplication, LoggerService, ModuleMetadata } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  JobHandler,
  JobQueueModule,
  type Job,
  type JobHandlerOptions,
  type JobQueueModuleOptions,
} from 'nest-job-queue';
import { JobQueueHealthIndicator } from 'nest-job-queue/health';
import { JobQueueTesting, JobQueueTestingModule } from 'nest-job-queue/testing';
import { RETRIES_AT_ONCE } from '../support/queue/retries.js';
import { testRedisUrl } from '../support/redis/redis.js';

const open = new Set<INestApplication>();

afterEach(async () => {
  for (const app of open) {
    await app.close();
  }
});

let inMemory = false;

/** Runs tests of the handler path on Redis, and in memory by the testing module: `startApp` and `compileApp` follow. */
export function onEachStore(name: string, tests: () => void): void {
  describe.each(['on Redis', 'in memory'])(`${name} (%s)`, (place) => {
    beforeEach(() => {
      inMemory = place === 'in memory';
    });
    afterEach(() => {
      inMemory = false;
    });
    tests();
  });
}

/** Lets time pass without the test's clock: in memory, until nothing is left to do. */
export async function passTime(app: INestApplication): Promise<void> {
  if (inMemory) {
    await app.get(JobQueueTesting).drain({ delayed: true });
  }
}

/** A log that can be read. */
export class KeptLog implements LoggerService {
  readonly lines: string[] = [];
  log = (message: unknown, ...rest: unknown[]) => this.keep('log', message, rest);
  warn = (message: unknown, ...rest: unknown[]) => this.keep('warn', message, rest);
  error = (message: unknown, ...rest: unknown[]) => this.keep('error', message, rest);
  debug = () => undefined;
  verbose = () => undefined;

  /** Keeps a line. Objects are in it as a console prints them; the contexts behind it are not. */
  private keep(level: string, message: unknown, rest: readonly unknown[]): void {
    const all = [message, ...rest.filter((each) => typeof each === 'object' && each !== null)];
    const words = all.map((each) => (typeof each === 'string' ? each : inspect(each, { depth: 100 })));
    this.lines.push(`${level} ${words.join(' ')}`);
  }
}

/** A module of a test: the queue module on the shared server, and what the test adds. */
export interface TestApp extends ModuleMetadata {
  /** Options of forRoot. Unless they say so, `redis` is the shared server, and retries do not wait. */
  jobs?: JobQueueModuleOptions;
  /** The module in place of `JobQueueModule.forRoot(jobs)`. */
  module?: NonNullable<ModuleMetadata['imports']>[number];
  log?: LoggerService;
}

/** Compiles the app without starting it. */
export async function compileApp({
  jobs,
  module,
  log,
  imports = [],
  providers = [],
  ...rest
}: TestApp): Promise<INestApplication> {
  const root =
    module ??
    (inMemory
      ? JobQueueTestingModule.forTest({ ...RETRIES_AT_ONCE, ...jobs })
      : JobQueueModule.forRoot({ redis: testRedisUrl(), ...RETRIES_AT_ONCE, ...jobs }));
  const compiled = await Test.createTestingModule({
    imports: [root, ...imports],
    providers: [JobQueueHealthIndicator, ...providers],
    ...rest,
  })
    .setLogger(log ?? new KeptLog())
    .compile();
  const app = compiled.createNestApplication();
  const close = app.close.bind(app);
  app.close = async (): Promise<void> => {
    if (open.delete(app)) {
      await close();
    }
  };
  open.add(app);
  return app;
}

/** Compiles and starts an app; it is closed after the test. */
export async function startApp(app: TestApp): Promise<INestApplication> {
  const started = await compileApp(app);
  return started.init();
}

/** Makes a handler of jobs of a name. */
export function handlerOf(
  name: string,
  handle: (job: Job<never>) => unknown = () => 'done',
  options: JobHandlerOptions = {},
) {
  @JobHandler(name, options)
  class Handler {
    handle(job: Job<never>) {
      return handle(job);
    }
  }
  return Handler;
}

/** Makes a promise and the functions that end it. */
export function signal<Value = void>() {
  let resolve!: (value: Value) => void;
  const promise = new Promise<Value>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
