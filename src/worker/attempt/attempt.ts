import { backoffDelay } from '../../queue/model/backoff.js';
import {
  ClaimLostError,
  isNonRetryable,
  JobCancelledError,
  retryAfterOf,
  retryDelayOf,
} from '../../queue/errors/errors.js';
import type { Clock } from '../../queue/runtime/clock.js';
import type { ClaimedJob } from '../../queue/model/job.js';
import type { ResolvedQueueOptions } from '../../queue/model/queue-options.js';
import { encodeContent, type ContentRules } from '../../queue/codec/codec.js';
import type { Completion, Failure, Release } from '../../queue/store/store-calls.js';
import { serializeError } from '../../queue/errors/serialize-error.js';
import type { Handler } from '../handlers/handler.js';
import { Job, type JobReporter } from '../handlers/job.js';
import type { ListItem } from './attempt-list.js';
import { callHandler } from './call-handler.js';
import { StuckWatch } from './stuck-watch.js';
import type { StuckJob } from '../../queue/model/worker-record.js';
import { AttemptTimeout } from './attempt-timeout.js';
import type { HandlerTimeoutError } from './worker-errors.js';

/** Receives the end of an attempt: `ended` at most once, and `handlerEnded` once, when the handler has really ended. */
export interface AttemptOwner {
  readonly reports: JobReporter;
  /** The options of the queue, for those that the handler does not set. */
  readonly content: ContentRules & Pick<ResolvedQueueOptions, 'maxRateLimitRetries' | 'maxSnoozes'>;
  readonly clock: Clock;
  readonly host: { readonly warn: (message: string) => void };
  completed(attempt: Attempt): void;
  failed(attempt: Attempt, failure: Failure): void;
  released(attempt: Attempt, release: Release): void;
  handlerEnded(attempt: Attempt): void;
  /** Called when the handler continues although its signal was aborted. */
  reportStuck(attempt: Attempt): void;
}

/**
 * One run of a handler for one claim, from its start to its settlement. Its end is decided once: by the handler's return or
 * error, its timeout, a lost claim, or a shutdown.
 */
export class Attempt implements Completion, ListItem<Attempt> {
  readonly job: Job;
  /** JSON of the result, once completed. */
  result = '';
  /** The handler's result or error, for events. */
  outcome: unknown;
  /** True if another job began to wait for its end while it ran. Then it is no longer a plain job. */
  isFollowed = false;
  resultTtlMs: number | undefined;
  /** True once the attempt has a slot: its handler was called, or will be after the next reply of Redis. */
  begun = false;
  /** True if the death of the worker is no crash of it, because the job before may be the cause. */
  uncharged = false;
  isEnded = false;
  /** Absent for a handler without a timeout. */
  private timeout: AttemptTimeout | undefined;
  /** The time of the handler's call, by the monotonic clock; undefined before. */
  startedAtMs: number | undefined;
  /** True if its handler was called and has not ended. */
  private runs = false;
  private watch: StuckWatch | undefined;
  before: Attempt | undefined;
  behind: Attempt | undefined;

  constructor(
    readonly claim: ClaimedJob,
    private readonly handler: Handler,
    private readonly owner: AttemptOwner,
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

  /** True once its handler was called. Until then the attempt does not count, and its rates are refunded. */
  get isCalled(): boolean {
    return this.startedAtMs !== undefined;
  }

  /** The stuck job, if the handler was reported as stuck and still runs. */
  get stuck(): StuckJob | undefined {
    return this.watch?.stuck;
  }

  /** The time of the call of a handler that runs, and that no timeout and no abort ends. */
  get unboundedSinceMs(): number | undefined {
    return this.runs && !this.timeout && !this.watch ? this.startedAtMs : undefined;
  }

  /** The timeout that passed; undefined before, and without one. */
  private get timedOut(): HandlerTimeoutError | undefined {
    return this.timeout?.error;
  }

  start(): void {
    this.runs = true;
    this.startedAtMs = this.owner.clock.monotonic();
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
      this.owner.released(this, { ...this.ref(), reason: 'interruption', delayMs: 0, unstarted: !this.isCalled });
    }
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
    if (this.runs && this.job.abortReason) {
      this.watch ??= new StuckWatch(
        this.job,
        () => this.owner.reportStuck(this),
        this.owner.host.warn,
        this.owner.clock,
      );
    }
  }

  private leave(): void {
    this.runs = false;
    this.watch?.end();
    this.owner.handlerEnded(this);
  }

  private onReturn(value: unknown): void {
    this.leave();
    if (!this.end()) {
      return;
    }
    if (this.timedOut) {
      return this.fail(this.timedOut, false);
    }
    this.outcome = value;
    try {
      const keep = this.claim.options.keepResult ?? this.handler.keepResult ?? true;
      this.result =
        value === undefined || !keep ? '' : encodeContent('result', value, this.owner.content, this.claim);
    } catch (error) {
      return this.fail(error, true);
    }
    this.owner.completed(this);
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
      this.owner.released(this, { ...this.ref(), reason: 'rate_limited', delayMs: restMs, most });
    } else if (delayMs === undefined) {
      this.fail(error, isNonRetryable(error));
    } else {
      const { maxSnoozes: most = this.owner.content.maxSnoozes } = this.handler;
      this.owner.released(this, { ...this.ref(), reason: 'snooze', delayMs: Math.max(1, delayMs), most });
    }
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
    this.outcome = error;
    const failure: Failure = {
      ...this.ref(),
      error: serializeError(error),
      final,
      backoffMs: 0,
      begun: this.isCalled,
    };
    try {
      failure.backoffMs = backoffDelay(
        this.claim.options.backoff ?? this.handler.backoff,
        this.claim.attempt,
        error,
        this.owner.clock.random(),
        this.claim,
      );
    } catch (fault) {
      // An error of the user's backoff function must not hide the job's error.
      failure.error = {
        ...failure.error,
        message: `${failure.error.message} (and ${serializeError(fault).message})`,
      };
    }
    this.owner.failed(this, failure);
  }

  /** Decides the end; false when it was decided before. */
  private end(): boolean {
    const first = !this.isEnded;
    this.isEnded = true;
    this.timeout?.stop();
    return first;
  }

  private ref() {
    return { id: this.id, token: this.token, fence: this.fence };
  }
}
