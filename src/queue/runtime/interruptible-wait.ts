import type { Clock } from './clock.js';

/** A wait that can be ended early. One at a time. */
export class InterruptibleWait {
  private wake: (() => void) | undefined;

  constructor(private readonly clock: Clock) {}

  /** Resolves after `ms`, or once `end` is called. */
  async wait(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = this.clock.setTimeout(resolve, ms);
      this.wake = () => {
        this.clock.clear(timer);
        resolve();
      };
    });
    this.wake = undefined;
  }

  /** Ends the wait that is under way. */
  end(): void {
    this.wake?.();
  }
}
