import { AsyncLocalStorage } from 'node:async_hooks';
import { Logger, type LoggerService } from '@nestjs/common';
import { redactValue, type Redact } from '../../queue/codec/redact.js';
import { oneLine } from '../../queue/errors/show.js';
import type { AttemptMiddleware } from '../../worker/handlers/attempt-middleware.js';
import type { Job } from '../../worker/handlers/job.js';

// One storage for the process, so that both builds of the package find the job.
const STORAGE = Symbol.for('nest-job-queue:current-job');

const storage = ((globalThis as Record<symbol, unknown>)[STORAGE] ??=
  new AsyncLocalStorage<Job>()) as AsyncLocalStorage<Job>;

/**
 * Returns the job whose handler runs, in whatever the handler calls and awaits; undefined outside of jobs. Needs
 * `forRoot({ currentJob: true })` or `logContext`.
 *
 * @example const tenant = currentJob()?.metadata.tenant;
 */
export function currentJob<Payload = unknown>(): Job<Payload> | undefined {
  return storage.getStore() as Job<Payload> | undefined;
}

/** Makes the job of each attempt the current one, for the other middleware too. */
export const currentJobMiddleware: AttemptMiddleware = {
  attempt: (job, next) => storage.run(job, next),
};

/** Returns the beginning of each log line of a job's handler. */
export type DescribeJob = (job: Job) => string;

type Level = 'log' | 'error' | 'warn' | 'debug' | 'verbose' | 'fatal';

/** Nest keeps the app's logger where only subclasses reach it. */
class AppLogger extends Logger {
  static get current(): LoggerService | undefined {
    return Logger.staticInstanceRef;
  }
}

/**
 * Adds the running job to each line of its handler in Nest's Logger, and redacts the line. An app with several connections
 * has one for each.
 */
export class JobLines implements LoggerService {
  /** The jobs of the connection. */
  private readonly jobs = new WeakSet<Job>();
  /** Makes the jobs of a worker known here. */
  readonly middleware: AttemptMiddleware = {
    attempt: (job, next) => {
      this.jobs.add(job);
      return next();
    },
  };

  private constructor(
    private readonly target: LoggerService,
    private readonly redactOf: (queue: string) => Redact | undefined,
    private readonly describe: DescribeJob,
  ) {}

  /** Wraps the logger that the app has now. Returns undefined if the app has switched its log off. */
  static install(
    redactOf: (queue: string) => Redact | undefined,
    describe: DescribeJob = describeJob,
  ): JobLines | undefined {
    const { current } = AppLogger;
    if (!current) {
      return undefined;
    }
    const lines = new JobLines(current, redactOf, describe);
    Logger.overrideLogger(lines);
    return lines;
  }

  /** Puts the app's logger back, unless another one has taken its place. */
  remove(): void {
    if (AppLogger.current === this) {
      Logger.overrideLogger(this.target);
    }
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.write('log', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('verbose', message, rest);
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  private write(level: Level, message: unknown, rest: unknown[]): void {
    const job = currentJob();
    if (!job || !this.jobs.has(job)) {
      this.target[level]?.(message, ...rest);
      return;
    }
    const shown = (value: unknown) => this.shown(value, job);
    this.target[level]?.(withJob(shown(message), job, this.describe), ...rest.map(shown));
  }

  private shown(value: unknown, job: Job): unknown {
    const { texts } = job;
    if (!texts) {
      return value;
    }
    const redact = this.redactOf(job.queue);
    const isObject = typeof value === 'object' && value !== null && !(value instanceof Error);
    const hidesFields = isObject && Array.isArray(redact);
    return texts.shown.value(hidesFields ? redactValue(redact, value, { part: 'payload', job }) : value);
  }
}

/** Adds the job to a line. A text gets words in front, an object, as for a structured log, a field `job`. */
function withJob(message: unknown, job: Job, describe: DescribeJob): unknown {
  if (typeof message === 'object' && message !== null && Object.getPrototypeOf(message) === Object.prototype) {
    const { id, name, queue, attempt } = job;
    return { ...message, job: { id, name, queue, attempt } };
  }
  return typeof message === 'string' ? `${describe(job)} ${message}` : message;
}

function describeJob({ id, name, queue, attempt }: Job): string {
  return oneLine(`[job ${id} ${name} of ${queue}, attempt ${attempt}]`);
}
