import { AsyncResource } from 'node:async_hooks';
import type { ContentRules } from '../../queue/codec/codec.js';
import { encodeContent } from '../../queue/codec/encode-content.js';
import type { Sealed } from '../../queue/codec/sealed.js';
import { ownKindOf } from '../../queue/errors/error-kind.js';
import {
  ClaimLostError,
  JobCancelledError,
  isNonRetryable,
  retryAfterOf,
  retryDelayOf,
  isFrom,
  type JobWaitsError,
} from '../../queue/errors/errors.js';
import { stateErrorIn } from '../../queue/errors/redis-errors.js';
import { serializeError } from '../../queue/errors/stored-error.js';
import { backoffDelay } from '../../queue/model/backoff.js';
import type { ClaimRef, ClaimedJob } from '../../queue/model/job.js';
import type { ResolvedQueueOptions } from '../../queue/model/queue-options.js';
import { slotsTaken } from '../../queue/model/slots.js';
import type { StuckJob } from '../../queue/model/worker-record.js';
import type { Clock } from '../../queue/runtime/clock.js';
import type { Release, UnsealedFailure, Completion } from '../../queue/store/attempt-forms.js';
import type { Handler } from '../handlers/handler.js';
import { type JobTexts, type JobReporter, Job, isStreamed, streamed } from '../handlers/job.js';
import type { AskedProfile } from './asked-profile.js';
import { AttemptTimeout, StuckWatch } from './overdue-handler.js';
import type { Outages } from './queue-reporter.js';
import type { HandlerTimeoutError } from './worker-errors.js';

/** The runner of an attempt. */
export interface AttemptOwner<Attempt> {
  readonly reports: JobReporter;
  /** Takes the end of the attempt, at most once. */
  readonly settlements: {
    complete(attempt: Attempt): void;
    fail(attempt: Attempt, failure: UnsealedFailure): void;
    release(attempt: Attempt, release: Release): void;
  };
  /** The options of the queue. An option of the handler overrides them. */
  readonly content: ContentRules &
    Pick<ResolvedQueueOptions, 'limits' | 'rates' | 'maxRateLimitRetries' | 'maxSnoozes' | 'errorKind'>;
  /** Rests a limit of the queue; with a key only that of this group. */
  restLimit(limit: string, ms: number, group: string | undefined): void;
  /** A request for a profile that the next attempt tries to take; undefined without one. */
  readonly askedProfile?: AskedProfile | undefined;
  readonly clock: Clock;
  readonly outages: Outages;
  readonly host: { readonly warn: (message: string) => void };
  /** Called once, when the handler has really ended, or will not be called. @param hadSlot whether it leaves a free slot */
  handlerEnded(attempt: Attempt, hadSlot: boolean): void;
  /** Called when the end is decided before the attempt has a slot. */
  endedInLine(attempt: Attempt): void;
  /** Called when the handler continues although its signal was aborted. */
  reportStuck(attempt: Attempt): void;
}

/**
 * One run of a handler for one claim, from its start to its settlement. Its end is decided once: by the handler's return or
 * error, its timeout, a lost claim, or a shutdown.
 */
export class Attempt implements Completion, ListItem<Attempt> {
  readonly job: Job;
  readonly resultTtlMs: number | undefined;
  /** The slots that it takes. */
  readonly slots: number;
  private readonly state = new AttemptState();
  private json: Sealed | '' = '';
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
    this.slots = slotsTaken(handler.slots, claim.options.slots);
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
  get result(): Sealed | '' {
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
      const { askedProfile } = this.owner;
      returned = callHandler(askedProfile?.around(this.handler, this.claim) ?? this.handler, this.job);
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

  /** Aborts the handler's signal, because a cancel was requested. An attempt whose handler was not called ends at once. @param supersededBy the newer job that requested it */
  cancel(supersededBy?: string): void {
    const reason = new JobCancelledError(this.id, supersededBy);
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

  /** Gives the job back as if it had not been claimed, for want of a permit of its key. @param restMs how long its group rests */
  putBack(restMs: number): void {
    if (this.end()) {
      this.release({ reason: 'permit', delayMs: restMs, unstarted: true });
      this.leave();
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

  /** Takes what the handler returned. Chunks that it returned are written first, and the attempt runs on until Redis has them. */
  private onReturn(value: unknown): void {
    const { job } = this;
    if (isStreamed(value)) {
      const context = new AsyncResource('nest-job-queue job');
      const result = context.runInAsyncScope(streamed, undefined, job, value);
      result.then(
        (made) => this.onReturn(made),
        (error: unknown) => this.onThrow(error),
      );
    } else if (job.usedStream) {
      job.usedStream.end(new ClaimLostError(this.id));
      job.usedStream.flush().then(
        () => this.finish(value),
        (error: unknown) => this.onThrow(error),
      );
    } else {
      this.finish(value);
    }
  }

  private finish(value: unknown): void {
    this.leave();
    if (!this.end()) {
      return;
    }
    if (this.timedOut) {
      return this.fail(this.timedOut, false);
    }
    if (this.job.parked) {
      return this.park(this.job.parked, true);
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
    const { usedStream } = this.job;
    usedStream?.end(new ClaimLostError(this.id));
    const pending = usedStream?.pending;
    if (pending) {
      void this.finishBehind(pending, error);
    } else {
      this.finishThrown(error);
    }
  }

  private async finishBehind(chunks: Promise<void>, error: unknown): Promise<void> {
    await chunks;
    this.finishThrown(error);
  }

  private finishThrown(error: unknown): void {
    this.leave();
    if (!this.end()) {
      return;
    }
    if (this.timedOut) {
      return this.failTimedOut(this.timedOut, error);
    }
    const { parked } = this.job;
    if (parked && isFrom(error, parked)) {
      return this.park(parked, false);
    }
    let delayMs: number | undefined;
    let rest: ReturnType<typeof retryAfterOf>;
    try {
      [delayMs, rest] = [retryDelayOf(error), retryAfterOf(error)];
      if (rest?.limit !== undefined) {
        this.job.checkLimit(rest.limit);
      }
    } catch (fault) {
      return this.fail(fault, false);
    }
    if (rest !== undefined) {
      this.meetLimit(rest);
    } else if (delayMs === undefined) {
      this.failOrGoBack(error);
    } else {
      const { maxSnoozes: most = this.owner.content.maxSnoozes } = this.handler;
      this.release({ reason: 'snooze', delayMs: Math.max(1, delayMs), most });
    }
  }

  /** Releases the job. The limit that it met rests, and without a name the queue or the group. */
  private meetLimit({ restMs, limit }: { restMs: number; limit: string | undefined }): void {
    const { maxRateLimitRetries: most = this.owner.content.maxRateLimitRetries } = this.handler;
    if (limit !== undefined) {
      this.owner.restLimit(limit, restMs, this.claim.options.group);
    }
    this.release({ reason: 'rate_limited', delayMs: limit === undefined ? restMs : 0, most });
  }

  /** Ends the attempt because its job waits. @param wentOn whether the handler did not end by that */
  private park(by: JobWaitsError, wentOn: boolean): void {
    if (wentOn) {
      this.owner.host.warn(
        `The handler of job ${this.id} ("${this.claim.name}" in queue "${this.claim.queue}") went on after its wait for ` +
          `"${by.waitsFor}" had ended its attempt. Its return value is dropped. Do not catch a JobWaitsError.`,
      );
    }
    this.returnedOrThrown = by;
    this.release({ reason: 'wait', delayMs: 0 });
  }

  /** Fails the attempt. But a refusal by the state of Redis is no fault of the job, which goes back. */
  private failOrGoBack(error: unknown): void {
    const isFinal = isNonRetryable(error);
    const refusal = isFinal ? undefined : stateErrorIn(error);
    if (!refusal) {
      return this.fail(error, isFinal);
    }
    const { name, message } = refusal;
    this.returnedOrThrown = error;
    this.release({ reason: 'outage', delayMs: this.owner.outages.rest(refusal), error: { name, message } });
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
    const { texts } = this.job;
    const { clock, content } = this.owner;
    const failure = failureOf({ claim, handler, clock, begun, texts, errorKind: content.errorKind }, error, final);
    this.owner.settlements.fail(this, failure);
  }

  /** Decides the end; false when it was decided before. */
  private end(): boolean {
    this.timeout?.stop();
    const isFirst = this.state.decide();
    if (isFirst && this.state.isWaiting) {
      this.owner.endedInLine(this);
    }
    return isFirst;
  }
}

/**
 * Calls a handler in its own async context, so that it cannot read another job's AsyncLocalStorage. Returns a promise
 * if the handler returned a thenable. A lazy query starts only in its `then`, so that is called in the context too.
 */
function callHandler(handler: Handler, job: Job): unknown {
  const context = new AsyncResource('nest-job-queue job');
  const returned: unknown = context.runInAsyncScope(handler.handle, handler, job);
  if (isStreamed(returned)) {
    return context.runInAsyncScope(streamed, undefined, job, returned);
  }
  return isThenable(returned) && !isNativePromise(returned)
    ? context.runInAsyncScope(adopt, undefined, returned)
    : returned;
}

function adopt(value: PromiseLike<unknown>): Promise<unknown> {
  return Promise.resolve(value);
}

/** Returns whether `Promise.resolve` returns the value itself. Then its `then` is not called either. */
function isNativePromise(value: PromiseLike<unknown>): boolean {
  return value instanceof Promise && value.constructor === Promise;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function';
}

/** A claim whose attempt fails, and its handler. */
interface Failing {
  readonly claim: ClaimedJob;
  readonly handler: Pick<Handler, 'backoff'>;
  readonly clock: Clock;
  /** True if the handler was called, so that the attempt counts. */
  readonly begun: boolean;
  /** What the stored error must not tell; undefined where the queue hides nothing. */
  readonly texts: JobTexts | undefined;
  /** The app's own words for the kind of an error. */
  readonly errorKind?: ((error: unknown) => string) | undefined;
}

/** Returns the failure that an error of an attempt means. @param final whether no attempt follows */
function failureOf(failing: Failing, thrown: unknown, final: boolean): UnsealedFailure {
  const { claim, handler, clock, begun, texts } = failing;
  const { id, token, fence } = claim;
  const stored = texts?.stored;
  const hide = stored && ((text: string) => stored.text(text));
  const failure: UnsealedFailure = {
    id,
    token,
    fence,
    error: serializeError(thrown, hide),
    ...ownKindOf(thrown, failing.errorKind),
    final,
    backoffMs: 0,
    begun,
  };
  try {
    const backoff = claim.options.backoff ?? handler.backoff;
    failure.backoffMs = backoffDelay(backoff, claim.attempt, thrown, clock.random(), claim);
  } catch (fault) {
    // An error of the user's backoff function must not hide the job's error.
    failure.error = {
      ...failure.error,
      message: `${failure.error.message} (and ${serializeError(fault, hide).message})`,
    };
  }
  return failure;
}

/**
 * Where an attempt is in its worker:
 *
 * | phase | it has | next |
 * |---|---|---|
 * | `waiting` | a claim | `starting`, or `gone` if its end comes first |
 * | `starting` | a slot; Redis may still be asked about its claim | `running`, or `gone` |
 * | `running` | a slot and a running handler | `gone` |
 * | `gone` | nothing here; its settlement may be in flight | |
 */
type Phase = 'waiting' | 'starting' | 'running' | 'gone';

/** The state of an attempt: its phase, and whether its end is decided. Only the attempt itself changes it. */
class AttemptState {
  private phase: Phase = 'waiting';
  private decided = false;
  private called: number | undefined;

  /** True before its slot. */
  get isWaiting(): boolean {
    return this.phase === 'waiting';
  }

  /** True from its slot to its departure. */
  get hasSlot(): boolean {
    return this.phase === 'starting' || this.phase === 'running';
  }

  /** True if its handler was called and has not ended. */
  get isRunning(): boolean {
    return this.phase === 'running';
  }

  /** The time of the handler's call, by the monotonic clock; undefined before. */
  get calledAtMs(): number | undefined {
    return this.called;
  }

  /** True once the end is decided. The handler may still run. */
  get isEnded(): boolean {
    return this.decided;
  }

  takeSlot(): void {
    this.phase = 'starting';
  }

  call(nowMs: number): void {
    this.phase = 'running';
    this.called = nowMs;
  }

  leave(): void {
    this.phase = 'gone';
  }

  /** Decides the end. Returns false if it was decided before. */
  decide(): boolean {
    const isFirst = !this.decided;
    this.decided = true;
    return isFirst;
  }
}

/** An item that knows its neighbours in its list. Both are undefined outside of a list. */
export interface ListItem<Item> {
  before: Item | undefined;
  behind: Item | undefined;
}

/**
 * The claimed attempts of a runner, in the order of their claims. It is no Set, because V8 often replaces the table of a
 * Set, and each table refers to the next. Once one is among the old objects, all later tables and their attempts outlive
 * scavenges. See docs/internals/performance.md, "Young objects".
 */
export class AttemptList<Item extends ListItem<Item>> implements Iterable<Item> {
  private first: Item | undefined;
  private last: Item | undefined;
  private count = 0;

  get size(): number {
    return this.count;
  }

  has(item: Item): boolean {
    return item === this.first || item.before !== undefined;
  }

  /** Adds an item, and returns it. */
  add(item: Item): Item {
    item.before = this.last;
    if (this.last) {
      this.last.behind = item;
    } else {
      this.first = item;
    }
    this.last = item;
    this.count++;
    return item;
  }

  /** Removes an item. Returns whether it was in the list. */
  delete(item: Item): boolean {
    if (!this.has(item)) {
      return false;
    }
    const { before, behind } = item;
    if (before) {
      before.behind = behind;
    } else {
      this.first = behind;
    }
    if (behind) {
      behind.before = before;
    } else {
      this.last = before;
    }
    item.before = undefined;
    item.behind = undefined;
    this.count--;
    return true;
  }

  /** Iterates over the items of now, which may be removed meanwhile. */
  [Symbol.iterator](): Iterator<Item> {
    const items: Item[] = [];
    for (let item = this.first; item; item = item.behind) {
      items.push(item);
    }
    return items[Symbol.iterator]();
  }
}
