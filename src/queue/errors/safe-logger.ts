import { isLogger, silentLogger, type JobQueueLogger } from '../runtime/logger.js';
import { describeError } from './stored-error.js';
import { InvalidOptionError } from './errors.js';
import { oneLine, show } from './show.js';

/** The level of a log line. */
export type LogLevel = 'log' | 'warn' | 'error';

/**
 * The application's logger, wrapped for this package. Each message is one line of bounded length, with control
 * characters escaped. The stack and causes of an error follow it. An error or a rejection of the logger does not affect
 * workers.
 */
export class SafeLogger implements JobQueueLogger {
  /** Returns the logger itself if it is safe already. */
  static of(logger: JobQueueLogger): SafeLogger {
    return logger instanceof SafeLogger ? logger : new SafeLogger(logger);
  }

  constructor(private readonly target: JobQueueLogger) {}

  /** Returns whether nothing is written, because the application gave no logger. */
  get isSilent(): boolean {
    return this.target === silentLogger;
  }

  log(message: string): void {
    this.write('log', oneLine(message));
  }

  warn(message: string, ...thrown: [thrown?: unknown]): void {
    this.write('warn', textOf(message, thrown));
  }

  error(message: string, ...thrown: [thrown?: unknown]): void {
    this.write('error', textOf(message, thrown));
  }

  debug(message: string, ...thrown: [thrown?: unknown]): void {
    this.write('debug', textOf(message, thrown));
  }

  /** Writes a message, and behind it an error as `describeStored` made it. */
  describe(level: LogLevel, message: string, description?: string): void {
    this.write(level, description === undefined ? oneLine(message) : `${oneLine(message)}: ${description}`);
  }

  protected write(level: keyof JobQueueLogger, text: string): void {
    try {
      const written: unknown = this.target[level]?.(text);
      if (written !== undefined) {
        Promise.resolve(written).catch(() => undefined); // there is nowhere left to say it
      }
    } catch {
      // There is nowhere left to say it.
    }
  }
}

/** @throws InvalidOptionError for an invalid logger */
export function checkLogger(subject: string, logger: unknown): SafeLogger {
  if (!isLogger(logger)) {
    throw new InvalidOptionError(subject, 'a logger with log, warn and error', show(logger));
  }
  return SafeLogger.of(logger);
}

function textOf(message: string, thrown: readonly unknown[]): string {
  return thrown.length > 0 ? `${oneLine(message)}: ${describeError(thrown[0])}` : oneLine(message);
}
