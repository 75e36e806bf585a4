import { Logger, type LoggerService } from '@nestjs/common';
import { oneLine } from '../../queue/errors/one-line.js';
import type { Job } from '../../worker/handlers/job.js';
import { currentJob } from './current-job.js';

/** Returns the words that a line of a job's handler begins with. */
export type DescribeJob = (job: Job) => string;

type Level = 'log' | 'error' | 'warn' | 'debug' | 'verbose' | 'fatal';

/** Nest keeps the app's logger where only subclasses reach it. */
class AppLogger extends Logger {
  static get current(): LoggerService | undefined {
    return Logger.staticInstanceRef;
  }
}

/** Adds the job that runs to each line that is written through Nest's Logger while it runs. */
export class JobLines implements LoggerService {
  private constructor(
    private readonly target: LoggerService,
    private readonly describe: DescribeJob,
  ) {}

  /**
   * Puts itself in front of the logger that the app has now.
   *
   * @returns puts the app's logger back, unless another one has taken its place
   */
  static install(describe: DescribeJob = describeJob): () => void {
    const { current } = AppLogger;
    if (!current) {
      return () => undefined; // the app has switched its log off
    }
    const lines = new JobLines(current, describe);
    Logger.overrideLogger(lines);
    return () => {
      if (AppLogger.current === lines) {
        Logger.overrideLogger(current);
      }
    };
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
    this.target[level]?.(job ? withJob(message, job, this.describe) : message, ...rest);
  }
}

/** A text gets the words in front; an object, as for a structured log, gets a field `job`. */
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
