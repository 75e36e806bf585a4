import { InterruptibleWait } from '../../queue/runtime/interruptible-wait.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { QueueStore } from '../../queue/store/queue-store.js';

/** The pause after an error that passes, in ms. */
const SOON_MS = 1_000;
/** The pause after an error that stays until somebody changes the setup, in ms. */
const LATER_MS = 10_000;

/** Repeats the starts of workers until they succeed, so that an app heals without a restart. */
export class WorkerStarts {
  private readonly errors = new Map<string, Error>();
  private readonly pause: InterruptibleWait;
  private ended = false;

  constructor(
    private readonly store: Pick<QueueStore, 'clock' | 'passes'>,
    private readonly logger: JobQueueLogger,
  ) {
    this.pause = new InterruptibleWait(store.clock);
  }

  /** The last error of a start that has not succeeded yet. */
  get failure(): Error | undefined {
    return this.errors.values().next().value;
  }

  /**
   * Runs a start until it succeeds or the app ends. Resolves then, or with the first error that stays.
   *
   * @param what names the start in logs; '' for a process without a worker, which only checks Redis
   */
  run(what: string, start: () => Promise<void>): Promise<Error | undefined> {
    return new Promise((resolve) => void this.repeat(what, start, resolve));
  }

  /** Repeats no start any more. */
  end(): void {
    this.ended = true;
    this.pause.end();
  }

  private async repeat(what: string, start: () => Promise<void>, settled: (error?: Error) => void): Promise<void> {
    while (!this.ended) {
      try {
        await start();
        this.errors.delete(what);
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
    const isKnown = this.errors.get(what)?.message === error.message;
    this.errors.set(what, error);
    if (isKnown || this.ended) {
      return;
    }
    const again = `trying again every ${(passes ? SOON_MS : LATER_MS) / 1_000} s`;
    const text = what ? `${what} could not start; ${again}: ${error.message}` : `${error.message} (${again})`;
    if (passes) {
      this.logger.warn(text);
    } else {
      this.logger.error(text);
    }
  }
}
