import {
  ClaimLostError,
  isNonRetryable,
  JobCancelledError,
  retryAfterOf,
  retryDelayOf,
} from '../../queue/errors/errors.js';
import type { ClaimedJob, ClaimRef } from '../../queue/model/job.js';
import { encodeContent } from '../../queue/codec/encode-content.js';
import type { Completion, Release } from '../../queue/store/store-calls.js';
import type { Handler } from '../handlers/handler.js';
import { Job } from '../handlers/job.js';
import type { ListItem } from './attempt-list.js';
import type { AttemptOwner } from './attempt-owner.js';
import { AttemptState } from './attempt-state.js';
import { callHandler } from './call-handler.js';
import { failureOf } from './failure-of.js';
import { StuckWatch } from './stuck-watch.js';
import type { StuckJob } from '../../queue/model/worker-record.js';
import { AttemptTimeout } from './attempt-timeout.js';
import type { HandlerTimeoutError } from './worker-errors.js';

/**
 * One run of a handler for one claim, from its start to its settlement. Its end is decided once: by the handler's return or
 * error, its timeout, a lost claim, or a shutdown.
 */
export class Attempt implements Completion, ListItem<Attempt> {
  readonly job: Job;
  readonly resultTtlMs: number | undefined;
  private readonly state = new AttemptState();
  private json = '';
  private returnedOrThrown: unknown;
  private isFollowed = false;
  private uncharged = false;
  /** Absent for a handler without a timeout. */
  private timeout: AttemptTimeout | undefined;
  private watch: StuckWatch | undefined;
  before: Attempt | undefined;
  behind: Attempt | undefined;

  constructor(
    readonly claim: ClaimedJob,
    private readonly handler: Handler,
    private readonly owner: AttemptOwner<Attempt>,
  ) {
    this.job = new Job(claim, owner.reports);
    this.resultTtlMs = claim.options.resultTtlMs ?? handler.resultTtlMs;
  }

  get id(): string {
    return this.claim.id;
  }

  get token(): string {
    return this.claim.token;
  }

  /** @internal */
  get plain(): ClaimedJob['plain'] {
    return !this.isFollowed && this.claim.plain;
  }

  get fence(): number {
    return this.claim.fence;
  }

  get isEnded(): boolean {
    return this.state.isEnded;
  }

  /** True if the death of the worker is no crash of the job. The job before may be the cause. */
  get isUncharged(): boolean {
    return this.uncharged;
  }

  /** JSON of the result, once completed. */
  get result(): string {
    return this.json;
  }

  /** The handler's result or error, for events. */
  get outcome(): unknown {
    return this.returnedOrThrown;
  }

  /** The time of the handler's call, by the monotonic clock; undefined before. */
  get startedAtMs(): number | undefined {
    return this.state.calledAtMs;
  }

  /** True once its handler was called. Until then the attempt does not count, and its rates are refunded. */
  get isCalled(): boolean {
    return this.state.calledAtMs !== undefined;
  }

  /** The stuck job, if the handler was reported as stuck and still runs. */
  get stuck(): StuckJob | undefined {
    return this.watch?.stuck;
  }

  /** The time of the call of a handler that runs, and that no timeout and no abort ends. */
  get unboundedSinceMs(): number | undefined {
    return this.state.isRunning && !this.timeout && !this.watch ? this.state.calledAtMs : undefined;
  }

  /** The timeout that passed; undefined before, and without one. */
  private get timedOut(): HandlerTimeoutError | undefined {
    return this.timeout?.error;
  }

  /** Gives the attempt a slot. Its handler is called now, or after the next reply of Redis. */
  takeSlot(): void {
    this.state.takeSlot();
  }

  /** Calls the handler. */
  start(): void {
    this.state.call(this.owner.clock.monotonic());
    this.watchWhereAborted();
    const timeoutMs = this.claim.options.timeoutMs ?? this.handler.timeoutMs;
    if (timeoutMs !== undefined) {
      this.timeout = this.timeoutAfter(timeoutMs);
    }
    let returned: unknown;
    try {
      returned = callHandler(this.handler, this.job);
      if (returned instanceof Promise) {
        returned.then(
          (value) => this.onReturn(value),
          (error: unknown) => this.onThrow(error),
        );
        return;
      }
    } catch (error) {
      return this.onThrow(error);
    }
    this.onReturn(returned);
  }

  /** Marks the claim as lost. Whatever the handler does now, nothing is settled. */
  lose(): void {
    this.end();
    this.abort(new ClaimLostError(this.id));
  }

  /** Aborts the handler's signal, because a cancel was requested. An attempt whose handler was not called ends at once. */
  cancel(): void {
    const reason = new JobCancelledError(this.id);
    this.abort(reason);
    if (!this.isCalled && this.end()) {
      this.fail(reason, false);
    }
  }

  /** Releases the job unfinished and aborts the handler's signal. A later result of the handler is not settled. */
  interrupt(reason: Error): void {
    this.abort(reason);
    if (!this.end()) {
      return;
    }
    if (this.timedOut) {
      this.fail(this.timedOut, false);
    } else {
      this.release({ reason: 'interruption', delayMs: 0, unstarted: !this.isCalled });
    }
  }

  /** Starts uncharged: the death of the worker is no crash of the job until `charge`. */
  chargeLater(): void {
    this.uncharged = true;
  }

  /** Charges the attempt from now on. Returns false if it has ended, or was charged from its start. */
  charge(): boolean {
    const isDue = this.uncharged && !this.isEnded;
    this.uncharged &&= !isDue;
    return isDue;
  }

  /** Notes that another job waits for its end since it started. Then it is no longer a plain job. */
  becomeFollowed(): void {
    this.isFollowed = true;
  }

  /** Notes the error of the dead letter that Redis made of its release. */
  exhaust(error: Error): void {
    this.returnedOrThrown = error;
  }

  /** Leaves the worker, because the handler has ended, or will not be called. */
  leave(): void {
    const { hasSlot } = this.state;
    this.state.leave();
    this.watch?.end();
    this.owner.handlerEnded(this, hasSlot);
  }

  /** Stops the reports about a handler that continues, because its worker has stopped. */
  abandon(): void {
    this.watch?.stop();
  }

  private abort(reason: Error): void {
    this.job.abort(reason);
    this.watchWhereAborted();
  }

  private watchWhereAborted(): void {
    const { job, owner } = this;
    if (this.state.isRunning && job.abortReason) {
      this.watch ??= new StuckWatch(job, () => owner.reportStuck(this), owner.host.warn, owner.clock);
    }
  }

  private onReturn(value: unknown): void {
    this.leave();
    if (!this.end()) {
      return;
    }
    if (this.timedOut) {
      return this.fail(this.timedOut, false);
    }
    this.returnedOrThrown = value;
    try {
      const keep = this.claim.options.keepResult ?? this.handler.keepResult ?? true;
      this.json =
        value === undefined || !keep ? '' : encodeContent('result', value, this.owner.content, this.claim);
    } catch (error) {
      return this.fail(error, true);
    }
    this.owner.settlements.complete(this);
  }

  private onThrow(error: unknown): void {
    this.leave();
    if (!this.end()) {
      return;
    }
    if (this.timedOut) {
      return this.failTimedOut(this.timedOut, error);
    }
    let [delayMs, restMs]: (number | undefined)[] = [];
    try {
      [delayMs, restMs] = [retryDelayOf(error), retryAfterOf(error)];
    } catch (fault) {
      return this.fail(fault, false);
    }
    if (restMs !== undefined) {
      const { maxRateLimitRetries: most = this.owner.content.maxRateLimitRetries } = this.handler;
      this.release({ reason: 'rate_limited', delayMs: restMs, most });
    } else if (delayMs === undefined) {
      this.fail(error, isNonRetryable(error));
    } else {
      const { maxSnoozes: most = this.owner.content.maxSnoozes } = this.handler;
      this.release({ reason: 'snooze', delayMs: Math.max(1, delayMs), most });
    }
  }

  private release(how: Omit<Release, keyof ClaimRef>): void {
    const { id, token, fence } = this;
    this.owner.settlements.release(this, { id, token, fence, ...how });
  }

  /** Keeps a handler's error after its timeout as the cause, unless it is only the signal's reason. */
  private failTimedOut(timedOut: HandlerTimeoutError, error: unknown): void {
    if (error !== timedOut) {
      timedOut.cause = error;
    }
    this.fail(timedOut, isNonRetryable(error));
  }

  private timeoutAfter(timeoutMs: number): AttemptTimeout {
    const attempt = {
      claim: this.claim,
      abort: (reason: Error) => this.abort(reason),
      failNow: (error: Error) => {
        const first = this.end();
        if (first) {
          this.fail(error, false);
        }
        return first;
      },
      warn: this.owner.host.warn,
    };
    return new AttemptTimeout(attempt, this.owner.clock, timeoutMs, this.handler.timeoutGraceMs);
  }

  private fail(error: unknown, final: boolean): void {
    this.returnedOrThrown = error;
    const { claim, handler, isCalled: begun } = this;
    const failure = failureOf({ claim, handler, clock: this.owner.clock, begun }, error, final);
    this.owner.settlements.fail(this, failure);
  }

  /** Decides the end; false when it was decided before. */
  private end(): boolean {
    this.timeout?.stop();
    return this.state.decide();
  }
}
