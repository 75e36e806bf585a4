import { z } from 'zod';
import { checkOptions } from '../queue/model/validate-options.js';
import type { JobQueue } from '../queue/job-queue.js';
import { silentLogger, type JobQueueLogger } from '../queue/model/logger.js';
import { SafeLogger } from '../queue/model/safe-logger.js';
import { timerDuration, wholeNumber } from '../queue/model/queue-options.js';
import type { FailureLogging } from './attempt/failure-log.js';
import { checkMiddleware } from '../queue/enqueue/enqueue-middleware.js';
import { withMiddleware, type AttemptMiddleware } from './handlers/attempt-middleware.js';
import type { Handler, HandlerFunction } from './handlers/handler.js';
import type { DeclaredSchedule } from './maintenance/worker-schedules.js';
import type { WorkerEventListener } from './attempt/worker-event.js';

/** One queue as a worker serves it. */
export interface WorkerQueue {
  queue: JobQueue;
  /** How many of its jobs this process runs at once. Default 10. */
  concurrency?: number;
  /**
   * How many jobs are claimed beyond those that run, so that the next begins without a round trip: one claimed ahead waits
   * for a slot here while other workers cannot take it, and goes back when this one stops. 0: none. Default, below a
   * concurrency of 20 and without a limit of the process: as many as begin within 5 ms, at the pace of late, at most ten,
   * and twenty with those that run; once one has waited for 50 to 100 ms all go back, and for 10 s none is claimed ahead.
   */
  prefetch?: number;
  /** The handlers by job name. */
  handlers: Readonly<Record<string, HandlerFunction | Handler>>;
  /** Recurring jobs by schedule id. One that no worker declares any more stops after 30 s and is removed after a day. */
  schedules?: Readonly<Record<string, DeclaredSchedule>>;
}

export interface WorkerOptions {
  /** How many jobs this process runs at once over all queues, with fair turns. Default: without a limit of its own. */
  concurrency?: number;
  /** How often the worker sweeps its queues, in ms; 0: never, somebody else does. Default 5,000. */
  sweepIntervalMs?: number;
  /** How long `stop()` may take, in ms, running handlers included. Default 10,000. */
  shutdownTimeoutMs?: number;
  /** Who this worker is, for operators. Default `host:pid:random`. */
  id?: string;
  /** Where the worker logs. One that throws harms no job. Default: nowhere. */
  logger?: JobQueueLogger;
  /**
   * Whether failed attempts and dead letters are logged, with the error's stack and causes, and at which level. Equal ones
   * are summed up every ten seconds. Default `{ attempts: 'warn', deadLetters: 'error' }`.
   */
  logFailures?: boolean | FailureLogging;
  /** Acts around each attempt, the first outermost, and inside of it the schemas and the handler. Default: none. */
  middleware?: readonly AttemptMiddleware[];
  /** Called for everything that happens to a job here. */
  onEvent?: WorkerEventListener;
}

const level = z
  .enum(['log', 'warn', 'error', 'off'], { error: "expected 'log', 'warn', 'error' or 'off'" })
  .optional();

/** The option `logFailures`, wherever it is set. */
export const logFailuresSchema = z.union([z.boolean(), z.strictObject({ attempts: level, deadLetters: level })], {
  error: 'expected true, false or { attempts, deadLetters }',
});

function isLogger(value: unknown): boolean {
  const logger = value as Partial<JobQueueLogger> | null | undefined;
  return (['log', 'warn', 'error'] as const).every((method) => typeof logger?.[method] === 'function');
}

const optionsSchema = z.strictObject({
  concurrency: wholeNumber(1, 100_000).optional(),
  sweepIntervalMs: timerDuration(0).default(5_000),
  shutdownTimeoutMs: timerDuration(1).default(10_000),
  id: z
    .string({ error: 'expected text' })
    .regex(/^[\w.:@-]{1,128}$/, 'expected 1 to 128 of A-Z a-z 0-9 _ . : @ -')
    .optional(),
  logger: z
    .custom<JobQueueLogger>(isLogger, 'expected a logger with log, warn and error')
    .default(silentLogger)
    .transform((logger) => SafeLogger.of(logger)),
  logFailures: logFailuresSchema.default(true),
  middleware: z
    .custom<readonly AttemptMiddleware[]>()
    .transform((middleware) => checkMiddleware('worker.middleware', middleware))
    .default([]),
  onEvent: z.custom<WorkerEventListener>((value) => typeof value === 'function', 'expected a function').optional(),
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

/** Handlers as objects, with what they leave open taken from the queue. */
export function resolveHandlers(
  queue: JobQueue,
  handlers: WorkerQueue['handlers'],
  middleware: readonly AttemptMiddleware[] = [],
): Map<string, Handler> {
  return new Map(
    Object.entries(handlers).map(([name, handler]) => {
      const resolved = typeof handler === 'function' ? { handle: handler } : handler;
      const handle = withMiddleware(middleware, (job) => resolved.handle(job));
      return [name, { ...resolved, handle, backoff: resolved.backoff ?? queue.options.backoff }];
    }),
  );
}
