import { z } from 'zod';
import { checkCount, checkOptions } from '../queue/validation/validate-options.js';
import { InvalidOptionError } from '../queue/errors/errors.js';
import { show } from '../queue/errors/show.js';
import { slotBounds } from '../queue/model/slots.js';
import type { JobQueue } from '../queue/job-queue.js';
import { isLogger, silentLogger, type JobQueueLogger } from '../queue/runtime/logger.js';
import { SafeLogger } from '../queue/errors/safe-logger.js';
import { sharedLimitsField, type SharedLimitValues } from '../queue/model/shared-limit.js';
import { timerDuration, wholeNumber, flag } from '../queue/validation/numbers.js';
import type { FailureLogging } from './reports/failure-log.js';
import { checkMiddleware } from '../queue/enqueue/enqueue-middleware.js';
import { withMiddleware, type AttemptMiddleware, type WorkerEventListener } from './handlers/attempt-middleware.js';
import { isBulk, resolveBulk, type ResolvedHandler } from './handlers/bulk-gatherers.js';
import type { WorkerTrip } from './fetch/fetch-loop.js';
import { retriesOf, type WorkerQueue } from './handlers/handler.js';

export type { WorkerQueue } from './handlers/handler.js';

/** Options of a worker over all its queues. */
export interface WorkerOptions {
  /** The most jobs that this process runs at once over all queues, which take turns. @default without a limit */
  concurrency?: number | undefined;
  /**
   * The limits that its queues share, by their names. They hold for the whole fleet, also for queues of other apps. `{}` takes the
   * values that other apps define.
   *
   * @default none
   * @example limits: { openai: { maxRunning: 20, rateLimit: { limit: 500, periodMs: 60_000 } } }
   */
  limits?: Readonly<Record<string, SharedLimitValues>> | undefined;
  /**
   * True if each claim gives all free slots to one queue, and the queues with jobs take turns. For the shards of a queue.
   *
   * @internal
   */
  claimsFromOne?: boolean | undefined;
  /** The interval of the sweeps of this worker's queues, in ms; 0: never, another process must sweep. @default 5,000 */
  sweepIntervalMs?: number | undefined;
  /** The time `stop()` may take, in ms, running handlers included. @default 25,000 */
  shutdownTimeoutMs?: number | undefined;
  /** The id of this worker, for operators. @default `host:pid:random` */
  id?: string | undefined;
  /**
   * The logger of the worker. An error of the logger does not affect jobs. @default none; messages of its connections
   * then go to the logger of a JobQueue
   */
  logger?: JobQueueLogger | undefined;
  /**
   * True if failed attempts and dead letters are logged, with the error's stack and causes, and at which level. Equal
   * ones are summarised every ten seconds.
   * @default `{ attempts: 'warn', deadLetters: 'error' }`
   */
  logFailures?: boolean | FailureLogging | undefined;
  /** The name of the app, which the worker announces. So apps that share a queue by mistake are found. @default none */
  app?: string | undefined;
  /** The version of the app, such as a release or a commit. Each new one is marked in the history. @default none */
  version?: string | undefined;
  /**
   * False if no attempt of this worker is profiled: `queue.profiles.request` is refused if all workers of the queue say so.
   * @default true
   */
  profiles?: boolean | undefined;
  /** Acts around each attempt, the first outermost, and inside of it the schemas and the handler. @default none */
  middleware?: readonly AttemptMiddleware[] | undefined;
  /** Called for everything that happens to a job here. */
  onEvent?: WorkerEventListener | undefined;
  /** Called after each round trip to Redis that claimed or settled jobs. @default not measured */
  onTrip?: ((trip: WorkerTrip) => void) | undefined;
}

const level = z
  .enum(['log', 'warn', 'error', 'off'], { error: "expected 'log', 'warn', 'error' or 'off'" })
  .optional();

/** The option `logFailures`, wherever it is set. */
export const logFailuresSchema = z.union([z.boolean(), z.strictObject({ attempts: level, deadLetters: level })], {
  error: 'expected true, false or { attempts, deadLetters }',
});

/** The options `app` and `version`, wherever they are set. */
export const versionSchema = z
  .string({ error: 'expected text' })
  .regex(/^[\x21-\x7e]{1,100}$/, 'expected 1 to 100 visible characters of ASCII');

const optionsSchema = z.strictObject({
  concurrency: wholeNumber(1, 100_000).optional(),
  limits: sharedLimitsField.default({}),
  claimsFromOne: flag.default(false),
  sweepIntervalMs: timerDuration(0).default(5_000),
  shutdownTimeoutMs: timerDuration(1).default(25_000),
  id: z
    .string({ error: 'expected text' })
    .regex(/^[\w.:@-]{1,128}$/, 'expected 1 to 128 of A-Z a-z 0-9 _ . : @ -')
    .optional(),
  logger: z
    .custom<JobQueueLogger>(isLogger, 'expected a logger with log, warn and error')
    .default(() => silentLogger) // itself: of an object zod gives a copy
    .transform((logger) => SafeLogger.of(logger)),
  logFailures: logFailuresSchema.default(true),
  app: versionSchema.default(''),
  version: versionSchema.default(''),
  profiles: flag.default(true),
  middleware: z
    .custom<readonly AttemptMiddleware[]>()
    .transform((middleware) => checkMiddleware('worker.middleware', middleware))
    .default([]),
  onEvent: z.custom<WorkerEventListener>((value) => typeof value === 'function', 'expected a function').optional(),
  onTrip: z
    .custom<(trip: WorkerTrip) => void>((value) => typeof value === 'function', 'expected a function')
    .optional(),
});

export type ResolvedWorkerOptions = z.output<typeof optionsSchema>;

/**
 * Checks the options of a worker and fills in the defaults.
 *
 * @throws InvalidOptionError
 */
export function resolveWorkerOptions(options: WorkerOptions): ResolvedWorkerOptions {
  return checkOptions('worker', optionsSchema, options);
}

/** Returns handlers as objects, with the defaults of the queue. */
export function resolveHandlers(
  queue: JobQueue,
  handlers: WorkerQueue['handlers'],
  middleware: readonly AttemptMiddleware[],
): Map<string, ResolvedHandler> {
  return new Map(
    Object.entries(handlers).map(([name, handler]) => {
      if (isBulk(handler)) {
        return [name, { ...resolveBulk(handler, middleware), ...retriesOf(handler, queue.options) }];
      }
      const resolved = typeof handler === 'function' ? { handle: handler } : handler;
      const handle = withMiddleware(middleware, (job) => resolved.handle(job));
      return [name, { ...resolved, handle, ...retriesOf(resolved, queue.options) }];
    }),
  );
}

export const DEFAULT_CONCURRENCY = 10;
/** The most jobs of a queue that one process runs at once. */
export const HIGHEST_CONCURRENCY = 100_000;

/**
 * Checks that each job finds its slots in its queue and in the process.
 *
 * @param concurrencyOf returns the concurrency of a queue
 * @throws InvalidOptionError that names the slots and the concurrency
 */
export function checkSlots(
  queues: readonly WorkerQueue[],
  ofProcess: number | undefined,
  concurrencyOf = ({ concurrency = DEFAULT_CONCURRENCY }: WorkerQueue) => concurrency,
): void {
  for (const entry of queues) {
    const most = Math.min(concurrencyOf(entry), ofProcess ?? Infinity);
    const whose = most === ofProcess ? 'process' : 'queue';
    for (const [place, handlers] of Object.entries({ handlers: entry.handlers, onFailed: entry.onFailed ?? {} })) {
      for (const [name, handler] of Object.entries(handlers)) {
        const given = typeof handler === 'function' ? undefined : handler.slots;
        const slots = slotBounds(given).heaviest;
        const field = typeof given === 'object' ? 'slots.most' : 'slots';
        const subject = `worker queue "${entry.queue.name}".${place}.${name}.${field}`;
        if (slots > 1 && Object.values(entry.handlers).some(isBulk)) {
          const hint = 'In a queue with a bulk handler a slot is a call. Give the handler a queue of its own.';
          throw new InvalidOptionError(subject, 'none beside a bulk handler', show(slots), hint);
        }
        if (slots > 1 && entry.prefetch) {
          const hint = 'A queue with `slots` claims a job ahead only if it waits for its slots.';
          const prefetch = `worker queue "${entry.queue.name}".prefetch`;
          throw new InvalidOptionError(prefetch, '0, or none beside `slots`', show(entry.prefetch), hint);
        }
        if (slots > most) {
          const hint = 'Such a job would never start. Raise `concurrency`, or lower `slots`.';
          throw new InvalidOptionError(
            subject,
            `at most the concurrency ${most} of the ${whose}`,
            show(slots),
            hint,
          );
        }
      }
    }
  }
}

/** @throws InvalidOptionError */
export function checkConcurrency(queues: readonly WorkerQueue[], queue: string, concurrency: number): void {
  checkCount('concurrency', concurrency, 1, HIGHEST_CONCURRENCY);
  const served = queues.map((each) => each.queue.name);
  if (!served.includes(queue)) {
    throw new InvalidOptionError('setConcurrency queue', served.join(', '), show(queue));
  }
}
