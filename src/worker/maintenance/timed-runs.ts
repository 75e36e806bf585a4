import type { Clock, Timer } from '../../queue/runtime/clock.js';

/** Runs that each set the time of the next one. */
export class TimedRuns {
  private timer: Timer | undefined;
  private running: Promise<void> | undefined;
  private again = false;
  private stopped = false;

  /** @param run does the work. Returns the ms until the next run; undefined for none */
  constructor(
    private readonly clock: Clock,
    private readonly run: () => Promise<number | undefined>,
  ) {}

  /** Runs now. A call during a run adds another run after it. */
  runOnce(): Promise<void> {
    if (this.running) {
      this.again = true;
    }
    this.running ??= this.runAll().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  /** Prevents further runs. Resolves when the current one has ended. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.clock.clear(this.timer);
    await this.running;
  }

  private async runAll(): Promise<void> {
    this.clock.clear(this.timer);
    let nextInMs: number | undefined;
    do {
      this.again = false;
      nextInMs = await this.run();
    } while (this.again && !this.stopped);
    this.clock.clear(this.timer);
    if (!this.stopped && nextInMs !== undefined) {
      this.timer = this.clock.setTimeout(() => void this.runOnce(), nextInMs);
    }
  }
}
