import type { ClaimedJob } from '../../queue/model/job.js';
import type { StuckJob } from '../../queue/model/worker-record.js';
import type { Clock, Timer } from '../../queue/runtime/clock.js';
import type { Job } from '../handlers/job.js';
import { HandlerTimeoutError } from './worker-errors.js';

/** The time a handler may continue after its timeout before its attempt fails without waiting for it, in ms. */
const TIMEOUT_GRACE_MS = 10_000;

/** The attempt that a timeout ends. */
interface TimedAttempt {
  readonly claim: Pick<ClaimedJob, 'id' | 'name' | 'queue'>;
  /** Aborts the handler's signal. */
  abort(reason: HandlerTimeoutError): void;
  /** Fails the attempt although its handler may still run. Returns false if its end was decided before. */
  failNow(error: HandlerTimeoutError): boolean;
  warn(message: string): void;
}

/** The timer of one handler: aborts it at its timeout, and fails the attempt after the grace. */
export class AttemptTimeout {
  private passed: HandlerTimeoutError | undefined;
  private timer: Timer;

  constructor(
    private readonly attempt: TimedAttempt,
    private readonly clock: Clock,
    timeoutMs: number,
    private readonly graceMs = TIMEOUT_GRACE_MS,
  ) {
    this.timer = clock.setTimeout(() => this.timeOut(timeoutMs), timeoutMs);
  }

  /** Set once `timeoutMs` has passed: the attempt fails with it when the handler ends, or after the grace. */
  get error(): HandlerTimeoutError | undefined {
    return this.passed;
  }

  /** Stops the timer, because the end of the attempt is decided. */
  stop(): void {
    this.clock.clear(this.timer);
  }

  /** Aborts the handler and waits for its end, so that a retry does not run beside it. */
  private timeOut(timeoutMs: number): void {
    const error = new HandlerTimeoutError(this.attempt.claim.id, timeoutMs);
    this.passed = error;
    if (this.graceMs > 0) {
      this.timer = this.clock.setTimeout(() => this.endGrace(), this.graceMs);
    } else {
      this.attempt.failNow(error);
    }
    this.attempt.abort(error);
  }

  private endGrace(): void {
    if (this.attempt.failNow(this.passed!)) {
      const { id, name, queue } = this.attempt.claim;
      this.attempt.warn(
        `The handler of job ${id} (${name}) of queue "${queue}" still runs ${this.graceMs} ms after its timeout. ` +
          'Its attempt fails now, so a retry may run beside it; let the handler observe job.signal.',
      );
    }
  }
}

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
