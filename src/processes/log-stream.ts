import type { Readable } from 'node:stream';
import { Logger } from '@nestjs/common';
import { decodeLine, type LogLevel } from './log-record.js';

/** The longest piece that is printed as one line, in characters. */
const LONGEST_LINE = 1_024 * 1_024;

/**
 * Prints the output of a worker process through this process's Nest logger, with its name before each line. Calls of its
 * own logger keep their level and context. Its other output is `log`, its error output `warn`.
 */
export class LogStream {
  constructor(private readonly name: string) {}

  read(stdout: Readable, stderr: Readable): void {
    readLines(stdout, (line) => this.printLine(line, 'log'));
    readLines(stderr, (line) => this.printLine(line, 'warn'));
  }

  private printLine(line: string, level: LogLevel): void {
    const { text, record } = decodeLine(line);
    if (text || !record) {
      this.print(level, text, 'output');
    }
    if (record) {
      this.print(record.level, record.text, record.context ?? '');
    }
  }

  private print(level: LogLevel, text: string, context: string): void {
    const named = text
      .split('\n')
      .map((line) => `${this.name} | ${line}`)
      .join('\n');
    new Logger(context)[level](named);
  }
}

/** Calls `take` for each line; the last one need not have an end. */
function readLines(stream: Readable, take: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    lines.forEach((line) => take(line.replace(/\r$/, '')));
    if (rest.length > LONGEST_LINE) {
      take(rest);
      rest = '';
    }
  });
  stream.on('end', () => rest && take(rest));
  stream.on('error', () => undefined); // its end is noticed by the process's
}
