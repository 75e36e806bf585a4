import { show } from '../../queue/errors/show.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';

/** Logs the error of a step that a worker repeats once, until the step succeeds or has another error. */
export class FaultLog {
  private readonly known = new Map<string, string>();

  constructor(private readonly logger: JobQueueLogger) {}

  /**
   * Logs an error, unless it is the last one of this step.
   *
   * @param step names the step, in this log only
   * @param before the line up to the error
   */
  failed(step: string, before: string, error: unknown, level: 'warn' | 'error' = 'warn'): void {
    const message = (error as Error | undefined)?.message ?? show(error); // a function of the app may throw anything
    if (this.known.get(step) !== message) {
      this.known.set(step, message);
      this.logger[level](`${before}: ${message}`);
    }
  }

  /** Forgets the error of a step. */
  succeeded(step: string): void {
    this.known.delete(step);
  }
}
