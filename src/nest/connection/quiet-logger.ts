import { Logger } from '@nestjs/common';
import type { JobQueueLogger } from '../../queue/model/logger.js';
import { printable } from '../../queue/model/escape-control-characters.js';

const QUIET_MS = 10_000;
const MOST_REMEMBERED = 200;

/**
 * Nest's logger, with the same warning or error at most once in ten seconds: an outage must not flood the log. Nest prints
 * a text as it is, so control characters in it are spelled out here: ids, names and errors may come from anybody.
 */
export class QuietLogger implements JobQueueLogger {
  private readonly logger = new Logger('JobQueue');
  private readonly said = new Map<string, { at: number; held: number }>();

  log(message: string): void {
    this.logger.log(printable(message));
  }

  warn(message: string): void {
    this.say(message, (text) => this.logger.warn(printable(text)));
  }

  error(message: string): void {
    this.say(message, (text) => this.logger.error(printable(text)));
  }

  private say(message: string, print: (text: string) => void): void {
    const now = performance.now();
    const last = this.said.get(message);
    if (last && now - last.at < QUIET_MS) {
      last.held++;
      return;
    }
    if (this.said.size >= MOST_REMEMBERED) {
      this.said.clear();
    }
    this.said.set(message, { at: now, held: 0 });
    print(last?.held ? `${message} (${last.held} more of these)` : message);
  }
}
