import { availableParallelism } from 'node:os';
import type { LoggerService, LogLevel } from '@nestjs/common';
import { z } from 'zod';
import { checkOptions } from '../queue/validation/validate-options.js';
import { InvalidOptionError } from '../queue/errors/errors.js';
import { timerDuration, wholeNumber, flag } from '../queue/validation/numbers.js';
import { codeFile } from '../nest/handlers/thread-option.js';

/** Options of `runWorkers`. */
export interface RunWorkersOptions {
  /** The number of worker processes; 0: none until a `resize`. @default as many as the machine has processors */
  processes?: number | undefined;
  /** The name of the processes, before their number. @default `worker`: `worker-1`, `worker-2`, … */
  name?: string | undefined;
  /**
   * The file that each process runs, as a file URL or an absolute path; it must call `runWorkers` too.
   * @default the one that this process was started with
   */
  entry?: string | URL | undefined;
  /**
   * The variables that are added to the environment of the processes; a function is called at each start.
   * @default nothing
   */
  env?: (Record<string, string> | ((name: string) => Record<string, string>)) | undefined;
  /**
   * The time the processes may take to stop before they are killed, in ms. A process that stops by itself, after a SIGTERM
   * or without a supervisor, then ends with exit code 1. Longer than the app's `shutdownTimeoutMs`.
   * @default 28,000
   */
  stopTimeoutMs?: number | undefined;
  /** The time a process that ended waits for its restart, in ms; doubled each time in a row. @default 500 */
  restartDelayMs?: number | undefined;
  /** The longest such wait, in ms. @default 30,000 */
  longestRestartDelayMs?: number | undefined;
  /** After how long a run, in ms, the next restart counts as the first. @default 60,000 */
  stableMs?: number | undefined;
  /** The time a process may take to boot its app, in ms; waiting for Redis does not count. @default 60,000 */
  bootTimeoutMs?: number | undefined;
  /** The number of times in a row that a process may end before its worker runs. After that all are stopped with a WorkerBootError. @default 5 */
  maxBootFailures?: number | undefined;
  /**
   * The time an event loop may be blocked, in ms, before its process is killed and replaced. 0: forever.
   *
   * @default 30,000
   */
  hangTimeoutMs?: number | undefined;
  /**
   * True if this process exists only for its workers. SIGTERM and SIGINT stop them and then end it, with exit code 0 if all
   * stopped in time, else 1. Giving up ends it with 1.
   * @default true. False: the program calls `stop()` itself
   */
  ownsProcess?: boolean | undefined;
  /**
   * A file that exists while all workers run and are connected to Redis. A probe can use `test -f /tmp/ready`.
   *
   * @default none
   */
  readyFile?: string | undefined;
  /**
   * The port and the host of `GET /metrics`, which sums the metrics of all worker processes for Prometheus. Needs
   * prom-client, and `JobQueueMetricsModule` in the app. The host is 127.0.0.1 by default; 0.0.0.0 in a container.
   *
   * @default none
   */
  metrics?: { port: number; host?: string | undefined } | undefined;
  /** Nest's logger for this process, which also prints the output of the worker processes. @default Nest's own */
  logger?: LoggerService | LogLevel[] | false | undefined;
}

const MOST_PROCESSES = 1_000;

const optionsSchema = z.strictObject(
  {
    processes: wholeNumber(0, MOST_PROCESSES).optional(),
    name: z
      .string({ error: 'expected text' })
      .regex(/^[\w.-]{1,64}$/, 'expected 1 to 64 of A-Z a-z 0-9 _ . -')
      .default('worker'),
    entry: z
      .custom<string | URL>((value) => typeof value === 'string' || value instanceof URL, {
        error: 'expected a file URL or an absolute path',
      })
      .optional(),
    env: z
      .custom<NonNullable<RunWorkersOptions['env']>>(
        (value) => typeof value === 'function' || (typeof value === 'object' && value !== null),
        { error: 'expected an object of text, or a function that returns one' },
      )
      .optional(),
    stopTimeoutMs: timerDuration(1).default(28_000),
    restartDelayMs: timerDuration(0).default(500),
    longestRestartDelayMs: timerDuration(0).default(30_000),
    stableMs: timerDuration(0).default(60_000),
    bootTimeoutMs: timerDuration(100).default(60_000),
    maxBootFailures: wholeNumber(1, 1_000).default(5),
    hangTimeoutMs: z.union([z.literal(0), timerDuration(100)], { error: hangTimeoutError }).default(30_000),
    ownsProcess: flag.default(true),
    readyFile: z.string({ error: "expected a file's path" }).min(1, "expected a file's path").optional(),
    metrics: z
      .strictObject(
        {
          port: wholeNumber(0, 65_535),
          host: z.string({ error: 'expected a host' }).min(1, 'expected a host').default('127.0.0.1'),
        },
        { error: 'expected { port, host? }' },
      )
      .optional(),
    logger: z
      .custom<NonNullable<RunWorkersOptions['logger']>>(
        (value) => value === false || (typeof value === 'object' && value !== null),
        { error: 'expected a logger, a list of levels, or false' },
      )
      .optional(),
  },
  { error: 'expected an object of options' },
);

function hangTimeoutError() {
  return 'expected 0 or a whole number from 100 ms';
}

/** The options with their defaults. */
export type ResolvedRunWorkersOptions = z.output<typeof optionsSchema> & { processes: number; entry: string };

/** @throws InvalidOptionError */
export function resolveRunWorkersOptions(options: RunWorkersOptions): ResolvedRunWorkersOptions {
  const checked = checkOptions('runWorkers', optionsSchema, options);
  const entry = checked.entry ?? process.argv[1];
  if (entry === undefined) {
    throw new InvalidOptionError(
      'runWorkers.entry',
      'the file that each process runs',
      'none',
      "Pass { entry: './dist/worker.js' }.",
    );
  }
  return {
    ...checked,
    processes: checked.processes ?? availableParallelism(),
    // Node finds a file without an extension, as Nest's command line does.
    entry: checked.entry === undefined ? String(entry) : codeFile('runWorkers.entry', entry),
  };
}

/** @throws InvalidOptionError */
export function checkResize(processes: number, options: { stopTimeoutMs?: number | undefined }): void {
  const schema = z.strictObject({
    processes: wholeNumber(0, MOST_PROCESSES),
    stopTimeoutMs: timerDuration(1).optional(),
  });
  checkOptions('resize', schema, { ...options, processes });
}
