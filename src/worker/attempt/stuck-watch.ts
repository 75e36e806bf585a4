import type { Clock, Timer } from '../../queue/runtime/clock.js';
import type { StuckJob } from '../../queue/model/worker-record.js';
import type { Job } from '../handlers/job.js';

/**
 * The time a handler may run after its signal aborted before it is stuck, in ms. Longer than a thread's `graceMs`, so
 * that a handler that ends in time is not reported.
 */
export const STUCK_AFTER_MS = 6_000;

/** The interval of further reports while it continues, in ms. */
const AGAIN_MS = 60_000;

/**
 * Watches one handler after its signal aborted. Reports it as stuck after six seconds, and again every minute until it
 * ends. Its timer does not keep the process alive.
 */
export class StuckWatch {
  private readonly sinceMs: number;
  private timer: Timer;
  private reported = false;

  /** @param report called the first time, with its event */
  constructor(
    private readonly job: Pick<Job, 'queue' | 'id' | 'name' | 'attempt' | 'abortReason'>,
    private readonly report: () => void,
    private readonly warn: (message: string) => void,
    private readonly clock: Clock,
  ) {
    this.sinceMs = clock.monotonic();
    this.timer = clock.setTimeout(() => this.reportFirst(), STUCK_AFTER_MS);
    this.timer.unref();
  }

  /** The stuck job; undefined until it was reported. */
  get stuck(): StuckJob | undefined {
    const { queue, id, name, attempt } = this.job;
    return this.reported
      ? { queue, id, name, attempt, forMs: Math.round(this.forMs), reason: this.reason }
      : undefined;
  }

  /** Called when the handler has ended. */
  end(): void {
    this.stop();
    if (this.reported) {
      this.warn(`${this.subject}, which was stuck, has ended ${this.seconds} s after its signal was aborted.`);
    }
  }

  /** Stops the reports. */
  stop(): void {
    this.clock.clear(this.timer);
  }

  private reportFirst(): void {
    this.reported = true;
    this.timer = this.clock.setInterval(() => this.reportAgain(), AGAIN_MS);
    this.timer.unref();
    this.report();
  }

  private reportAgain(): void {
    this.warn(
      `${this.subject} still runs, ${this.seconds} s after its signal was aborted (${this.reason}), and keeps its slot.`,
    );
  }

  private get subject(): string {
    return `The handler of job ${this.job.id} (${this.job.name}) of queue "${this.job.queue}"`;
  }

  private get forMs(): number {
    return this.clock.monotonic() - this.sinceMs;
  }

  private get seconds(): number {
    return Math.round(this.forMs / 1_000);
  }

  private get reason(): string {
    return this.job.abortReason?.message ?? '';
  }
}
