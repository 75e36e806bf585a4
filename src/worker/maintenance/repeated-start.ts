import { InterruptibleWait } from '../../queue/runtime/interruptible-wait.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { QueueStore } from '../../queue/store/queue-store.js';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/** Repeats the steps of a worker's start while their errors pass, and keeps the last error of each for operators. */
export class RepeatedStart {
  private readonly errors = new Map<string, Error>();
  private readonly pause: InterruptibleWait;
  private ended = false;

  constructor(
    private readonly store: Pick<QueueStore, 'clock' | 'passes'>,
    private readonly logger: JobQueueLogger,
  ) {
    this.pause = new InterruptibleWait(store.clock);
  }

  /** The error of a step that has not succeeded yet. */
  get trouble(): Error | undefined {
    return this.errors.values().next().value;
  }

  /**
   * Runs a step until it succeeds, or a stop ends the wait. Logs an error that passes once.
   *
   * @param what names the step in logs
   * @throws the first error that does not pass
   */
  async run(what: string, step: () => Promise<unknown>): Promise<void> {
    for (let pauseMs = FIRST_PAUSE_MS; !this.ended; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)) {
      try {
        await step();
        return this.succeeded(what);
      } catch (error) {
        this.failed(what, error as Error);
      }
      await this.pause.wait(pauseMs);
    }
  }

  /** Forgets the error of a step. */
  succeeded(what: string): void {
    this.errors.delete(what);
  }

  private failed(what: string, error: Error): void {
    const isKnown = this.errors.get(what)?.message === error.message;
    this.errors.set(what, error);
    if (!this.store.passes(error)) {
      throw error;
    }
    if (!isKnown && !this.ended) {
      this.logger.warn(
        `${what} failed; trying again until it succeeds. If this takes long, check Redis and the network: ${error.message}`,
      );
    }
  }

  /** Ends all waits; no step is repeated. */
  end(): void {
    this.ended = true;
    this.pause.end();
  }
}
