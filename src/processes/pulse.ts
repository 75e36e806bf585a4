/** The most often a process is asked, in ms. */
const LONGEST_PAUSE_MS = 5_000;
/** How late a timer of this process's own must be, in ms, to show that it was itself not running. */
const OWN_LATENESS_MS = 1_000;

/** Asks a process over and over whether its event loop runs, and reports one that gives no answer in time. */
export class Pulse {
  private timer: NodeJS.Timeout | undefined;

  /** @param timeoutMs 0: never asks */
  constructor(
    private readonly timeoutMs: number,
    private readonly ask: () => void,
    private readonly hangs: () => void,
  ) {}

  start(): void {
    if (this.timeoutMs > 0) {
      this.timer = setTimeout(() => this.askOnce(), Math.min(LONGEST_PAUSE_MS, this.timeoutMs / 3));
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

  private askOnce(): void {
    this.ask();
    const due = performance.now() + this.timeoutMs;
    this.timer = setTimeout(() => {
      // Where this process was stopped too, so was the other: nothing can be said yet. An answer that waits is read first.
      this.timer = setTimeout(() => {
        if (performance.now() - due > OWN_LATENESS_MS) {
          this.askOnce();
        } else {
          this.timer = undefined;
          this.hangs();
        }
      }, 0);
    }, this.timeoutMs);
  }
}
