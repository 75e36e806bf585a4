import { InterruptibleWait } from '../../queue/runtime/waits.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { QueueStore } from '../../queue/store/queue-store.js';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/** The base of repeated starts. It keeps the last error of each start that has not succeeded yet. */
export abstract class Repetition {
  private readonly errors = new Map<string, Error>();
  protected readonly pause: InterruptibleWait;
  protected ended = false;

  constructor(
    protected readonly store: Pick<QueueStore, 'clock' | 'passes'>,
    protected readonly logger: JobQueueLogger,
  ) {
    this.pause = new InterruptibleWait(store.clock);
  }

  /** The error of a start that has not succeeded yet. */
  get failure(): Error | undefined {
    return this.errors.values().next().value;
  }

  /** Ends all waits; nothing is repeated. */
  end(): void {
    this.ended = true;
    this.pause.end();
  }

  /** Forgets the error of a start. */
  succeeded(what: string): void {
    this.errors.delete(what);
  }

  /** Keeps the error of a start that succeeded before, and is repeated elsewhere. */
  lost(what: string, error: Error): void {
    this.note(what, error);
  }

  /** Keeps an error. Returns true if a log does not have it yet. */
  protected note(what: string, error: Error): boolean {
    const isKnown = this.errors.get(what)?.message === error.message;
    this.errors.set(what, error);
    return !isKnown && !this.ended;
  }
}

/** Repeats the steps of a worker's start while their errors pass. */
export class RepeatedStart extends Repetition {
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

  private failed(what: string, error: Error): void {
    const isNew = this.note(what, error);
    if (!this.store.passes(error)) {
      throw error;
    }
    if (isNew) {
      this.logger.warn(
        `${what} failed; trying again until it succeeds. If this takes long, check Redis and the network: ${error.message}`,
      );
    }
  }
}
