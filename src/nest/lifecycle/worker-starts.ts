import { withRemedy } from '../../queue/errors/redis-errors.js';
import { Repetition } from '../../worker/maintenance/repeated-start.js';

/** The pause after an error that passes, in ms. */
const SOON_MS = 1_000;
/** The pause after an error that stays until somebody changes the setup, in ms. */
const LATER_MS = 10_000;

/** Repeats the starts of workers until they succeed, so that an app heals without a restart. */
export class WorkerStarts extends Repetition {
  /**
   * Runs a start until it succeeds or the app ends. Resolves then, or with the first error that stays.
   *
   * @param what names the start in logs; '' for a process without a worker, which only checks Redis
   */
  run(what: string, start: () => Promise<void>): Promise<Error | undefined> {
    return new Promise((resolve) => void this.repeat(what, start, resolve));
  }

  private async repeat(what: string, start: () => Promise<void>, settled: (error?: Error) => void): Promise<void> {
    while (!this.ended) {
      try {
        await start();
        this.succeeded(what);
        break;
      } catch (error) {
        const passes = this.store.passes(error);
        this.failed(what, error as Error, passes);
        if (!passes) settled(error as Error);
        await this.rest(passes ? SOON_MS : LATER_MS);
      }
    }
    settled();
  }

  private async rest(ms: number): Promise<void> {
    if (!this.ended) {
      await this.pause.wait(ms);
    }
  }

  /** Keeps the error, and logs it once. */
  private failed(what: string, error: Error, passes: boolean): void {
    if (!this.note(what, error)) {
      return;
    }
    const again = `trying again every ${(passes ? SOON_MS : LATER_MS) / 1_000} s`;
    const why = withRemedy(error.message);
    const text = what ? `${what} could not start; ${again}: ${why}` : `${why} (${again})`;
    if (passes) {
      this.logger.warn(text);
    } else {
      this.logger.error(text);
    }
  }
}
