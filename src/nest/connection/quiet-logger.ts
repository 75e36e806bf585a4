import { Logger } from '@nestjs/common';
import { DEFAULT_CONNECTION } from './connection-tokens.js';
import { SafeLogger } from '../../queue/errors/safe-logger.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';

const QUIET_MS = 10_000;
const MOST_REMEMBERED = 200;

/**
 * Nest's logger. It writes the same warning or error at most once in ten seconds, so an outage cannot flood the log.
 */
export class QuietLogger extends SafeLogger {
  private readonly said = new Map<string, { at: number; suppressed: number }>();

  /** @param connection the name of the connection in the messages */
  constructor(connection: string = DEFAULT_CONNECTION) {
    super(new Logger(connection === DEFAULT_CONNECTION ? 'JobQueue' : `JobQueue ${connection}`));
  }

  protected override write(level: keyof JobQueueLogger, text: string): void {
    if (level === 'log') {
      super.write(level, text);
      return;
    }
    const now = performance.now();
    const last = this.said.get(text);
    if (last && now - last.at < QUIET_MS) {
      last.suppressed++;
      return;
    }
    if (this.said.size >= MOST_REMEMBERED) {
      this.said.clear();
    }
    this.said.set(text, { at: now, suppressed: 0 });
    super.write(level, last?.suppressed ? `${text} (${last.suppressed} more of these)` : text);
  }
}
