import type { Clock, Timer } from '../../queue/runtime/clock.js';
import type { ClaimedJob } from '../../queue/model/job.js';
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
