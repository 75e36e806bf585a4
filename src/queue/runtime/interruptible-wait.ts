import type { Clock } from './clock.js';

/** Waits that can be ended early, all at once. */
export class InterruptibleWait {
  private readonly wakes = new Set<() => void>();

  constructor(private readonly clock: Clock) {}

  /** Resolves with false after `ms`, or with true once `end` is called. */
  wait(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const stop = (isEarly: boolean) => {
        this.clock.clear(timer);
        this.wakes.delete(wake);
        resolve(isEarly);
      };
      const wake = () => stop(true);
      this.wakes.add(wake);
      const timer = this.clock.setTimeout(() => stop(false), ms);
    });
  }

  /** Ends the current waits. */
  end(): void {
    this.wakes.forEach((wake) => wake());
  }
}
