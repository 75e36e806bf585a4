import { inspect } from 'node:util';
import type { LoggerService } from '@nestjs/common';
import { encodeRecord, type LogLevel } from './log-record.js';

/** Nest's logger in a worker process: hands every call to the supervisor, whose own logger prints it. */
export class ChildLogger implements LoggerService {
  log = (message: unknown, ...rest: unknown[]) => this.send('log', message, rest);
  error = (message: unknown, ...rest: unknown[]) => this.send('error', message, rest);
  warn = (message: unknown, ...rest: unknown[]) => this.send('warn', message, rest);
  debug = (message: unknown, ...rest: unknown[]) => this.send('debug', message, rest);
  verbose = (message: unknown, ...rest: unknown[]) => this.send('verbose', message, rest);
  fatal = (message: unknown, ...rest: unknown[]) => this.send('fatal', message, rest);

  /** Sends one call of Nest: messages (after an error its stack), and the context as the last string. */
  private send(level: LogLevel, message: unknown, rest: unknown[]): void {
    const last = rest.at(-1);
    const context = typeof last === 'string' ? last : undefined;
    const others = (context === undefined ? rest : rest.slice(0, -1)).filter((each) => each !== undefined);
    process.stdout.write(encodeRecord({ level, text: [message, ...others].map(textOf).join('\n'), context }));
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : inspect(value);
}
