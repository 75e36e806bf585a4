import type { BackgroundRole } from '../queue/runtime/background-role.js';

/** The most often a process is asked, in ms. */
const LONGEST_PAUSE_MS = 5_000;
/** The lateness of a timer of this process that shows that this process was suspended, in ms. */
const OWN_LATENESS_MS = 1_000;

/** Asks a process over and over whether its event loop runs, and reports one that gives no answer in time. */
export class Pulse implements BackgroundRole {
  private timer: NodeJS.Timeout | undefined;

  /** @param timeoutMs 0: never asks */
  constructor(
    private readonly timeoutMs: number,
    private readonly ask: () => void,
    private readonly hangs: () => void,
  ) {}

  start(): void {
    if (this.timeoutMs > 0) {
      this.timer = setTimeout(() => this.runOnce(), Math.min(LONGEST_PAUSE_MS, this.timeoutMs / 3));
    }
  }

  answered(): void {
    if (this.timer) {
      this.stop();
      this.start();
    }
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  /** Asks now, and reports the process if no answer comes in time. */
  runOnce(): void {
    this.ask();
    const due = performance.now() + this.timeoutMs;
    this.timer = setTimeout(() => {
      // If this process was suspended too, nothing is known about the other. A waiting answer is read first.
      this.timer = setTimeout(() => {
        if (performance.now() - due > OWN_LATENESS_MS) {
          this.runOnce();
        } else {
          this.timer = undefined;
          this.hangs();
        }
      }, 0);
    }, this.timeoutMs);
  }
}
