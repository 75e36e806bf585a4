import { YEAR_MS } from '../runtime/bounds.js';
import { brand, brandCheck, ERROR_FAMILY, isErrorOf } from './brand.js';
import { counted, oneLine, show } from './show.js';

const HELP = 'https://github.com/nest-job-queue/nest-job-queue/blob/main/docs/errors.md';

/** The base class of every error of this library, so that an application can recognise them. */
export class JobQueueError extends Error {
  /** The `code` of each error of this class, such as `JOB_TIMEOUT`. */
  static readonly code: string = 'JOB_QUEUE';

  /** Identifies the error in all versions, also in minified code, as its `name` does. */
  readonly code: string;

  /** @internal */
  static readonly [ERROR_FAMILY] = true;

  /** True if handlers throw it with their own message. @internal */
  protected static readonly isOfHandlers: boolean = false;

  /** @param message becomes one line of bounded length, because any client can choose ids, names and payloads */
  constructor(message: string, options?: ErrorOptions) {
    super(new.target.isOfHandlers ? message : oneLine(message), options);
    this.name = nameOf(new.target);
    this.code = new.target.code;
  }

  /** Returns true also for an error of another copy of this package. @internal */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return Function.prototype[Symbol.hasInstance].call(this, value) || isErrorOf(this, value);
  }

  /** The address of the page that says when this error is thrown, and what to do. */
  get docs(): string {
    return `${HELP}#${this.code.toLowerCase().replaceAll('_', '-')}`;
  }
}

/**
 * Returns the name of an error. Bundlers rename classes, so it follows from the code, `JOB_TIMEOUT` of `JobTimeoutError`. A class of an
 * app has no code of its own, and its own name.
 */
function nameOf(type: typeof JobQueueError): string {
  if (!Object.hasOwn(type, 'code')) return type.name;
  return `${type.code.toLowerCase().replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Error`;
}

/** An option, name, id or handler is invalid. Thrown before anything is written. */
export class InvalidOptionError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'INVALID_OPTION';

  constructor(
    /** The path of the option, or the invalid thing. */
    readonly subject: string,
    /** The expected value, in words. */
    readonly expected: string,
    /** A description of the found value. */
    readonly found: string,
    /** The remedy, in a sentence; empty if the expected value says it. */
    readonly hint = '',
  ) {
    super(`${subject}: expected ${expected}, found ${found}.${hint && ` ${hint}`}`);
    // Node prints each enumerable field of an error, and an empty hint says nothing.
    Object.defineProperty(this, 'hint', { enumerable: hint !== '' });
  }
}

/** A payload, result or progress cannot be stored as JSON, or is too large. Nothing was written. */
export class InvalidPayloadError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'INVALID_PAYLOAD';

  constructor(
    /** The path of the error in the value, such as `payload.to[2]`; for one of many jobs `enqueueMany[3].payload.to`. */
    readonly path: string,
    /** The expected value, in words. */
    readonly expected: string,
    /** A description of the found value. */
    readonly found: string,
  ) {
    super(`${path}: expected ${expected}, found ${found}.`);
  }
}

/** The Redis server cannot serve a queue: it is too old or unreachable, or its client has an unsupported option. */
export class RedisUnsuitableError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'REDIS_UNSUITABLE';
}

/**
 * Redis refused a call because of its own state. It is full, a replica, loading, or without its disk or its replicas. Or
 * its Cluster is down. Nothing was written. It passes without a change of the call, so repeat it later. An attempt that fails
 * with it, or with an error whose `cause` it is, uses no attempt.
 */
export class RedisStateError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'REDIS_STATE';

  constructor(
    message: string,
    /** The reply of Redis, such as `READONLY You can't write against a read only replica.`. */
    readonly reply: string = message,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Redis has no memory left and refused a call; nothing was written. */
export class RedisOutOfMemoryError extends RedisStateError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'REDIS_OUT_OF_MEMORY';
}

/** The claim that an operation was made under is no longer the current one; the operation changed nothing. */
export class ClaimLostError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'CLAIM_LOST';

  constructor(
    /** The id of the job. */
    readonly jobId: string,
  ) {
    super(
      `The claim of job ${jobId} is lost: it expired and was reclaimed, or the job is gone (removed, or ended and forgotten).`,
    );
  }
}

/** The job whose result was awaited ended as a dead letter. */
export class JobFailedError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'JOB_FAILED';

  constructor(
    /** The id of the job. */
    readonly jobId: string,
    /** The message of the last attempt's error. */
    readonly reason: string,
    /** The number of its attempts. */
    readonly attempts: number,
    /** The name of the last attempt's error, such as `TypeError`. */
    readonly errorName: string,
  ) {
    super(`Job ${jobId} failed after ${counted(attempts, 'attempt')}: ${errorName}: ${reason}`);
  }
}

/** The job was cancelled: its result was awaited, or its signal aborted. */
export class JobCancelledError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'JOB_CANCELLED';

  constructor(
    /** The id of the job. */
    readonly jobId: string,
    /** The id of the newer job that took its unique key. Absent for any other cancel. */
    readonly supersededBy?: string,
    /** The new place of a job that was moved, in words. Absent for any other cancel. */
    readonly movedTo?: string,
  ) {
    super(`Job ${jobId} was cancelled${causeOfCancel(supersededBy, movedTo)}.`);
    Object.defineProperty(this, 'supersededBy', { enumerable: supersededBy !== undefined });
    Object.defineProperty(this, 'movedTo', { enumerable: movedTo !== undefined });
  }
}

function causeOfCancel(supersededBy: string | undefined, movedTo: string | undefined): string {
  if (movedTo !== undefined) return `: it moved to ${movedTo}. Ask there`;
  return supersededBy === undefined ? '' : `: the newer job ${supersededBy} took its unique key`;
}

/** The job whose result was awaited does not exist: never enqueued, removed, or its hash has expired. */
export class JobNotFoundError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'JOB_NOT_FOUND';

  constructor(
    /** The id of the job. */
    readonly jobId: string,
    /** The queue that was read. */
    readonly queue: string,
  ) {
    super(`Queue "${queue}" has no job ${jobId}: it was never enqueued, was removed, or its record is gone.`);
  }
}

/** The queue was closed before or during a wait for a result. The job continues. */
export class QueueClosedError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'QUEUE_CLOSED';

  constructor(
    /** The name of the queue. */
    readonly queue: string,
  ) {
    super(`Queue "${queue}" was closed in this process; no result can be awaited any more. Its jobs continue.`);
  }
}

/** A result did not arrive in time. The job continues. */
export class JobTimeoutError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'JOB_TIMEOUT';

  constructor(
    /** The id of the job. */
    readonly jobId: string,
    /** The time limit for the result, in ms. */
    readonly timeoutMs: number,
  ) {
    super(`Job ${jobId} gave no result within ${timeoutMs} ms; the job continues.`);
  }
}

/** Thrown by a handler: the job fails at once, without its remaining attempts. */
export class NonRetryableError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'NON_RETRYABLE';

  static {
    brand(this, 'NonRetryableError');
  }

  /** @internal */
  protected static override readonly isOfHandlers = true;
}

/** Returns whether it is a NonRetryableError, also one of another copy of this package. */
export const isNonRetryable: (error: unknown) => error is NonRetryableError = brandCheck('NonRetryableError');

/**
 * Thrown by a handler to run the job again after `delayMs` (0 to a year), without using an attempt.
 *
 * @throws InvalidOptionError for an invalid delay, which then fails the attempt
 */
export class RetryLaterError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'RETRY_LATER';

  static {
    brand(this, 'RetryLaterError');
  }

  /** @internal */
  protected static override readonly isOfHandlers = true;

  constructor(
    /** The delay before the job may start again, in ms. */
    readonly delayMs: number,
    message = `retry in ${delayMs} ms`,
  ) {
    super(message);
    checkRetryDelay(delayMs);
  }
}

function checkRetryDelay(delayMs: unknown): asserts delayMs is number {
  if (typeof delayMs !== 'number' || !(delayMs >= 0 && delayMs <= YEAR_MS)) {
    const found = typeof delayMs === 'number' ? String(delayMs) : `a value of the type ${typeof delayMs}`;
    throw new InvalidOptionError('delayMs of a retry or snooze', 'a number of ms from 0 to a year', found);
  }
}

/**
 * Returns the delay of a RetryLaterError, and undefined for any other error.
 *
 * @throws InvalidOptionError for an imitated or changed one; or the error of its getter
 */
export function retryDelayOf(error: unknown): number | undefined {
  if (!isRetryLater(error)) {
    return undefined;
  }
  const delayMs: unknown = error.delayMs;
  checkRetryDelay(delayMs);
  return delayMs;
}

/** The longest rest that a RateLimitedError may ask for, in ms. */
const LONGEST_REST_MS = 86_400_000;

/**
 * Thrown by a handler that met a limit of a service, such as a 429. The whole queue rests, and the job runs again
 * afterwards without using an attempt. With `limit`, all queues that share this limit rest instead.
 *
 * @throws InvalidOptionError unless `retryAfterMs` is a number of ms from 1 to a day, which then fails the attempt
 * @example throw new RateLimitedError({ retryAfterMs: 30_000 });
 * @example throw new RateLimitedError({ limit: 'openai', retryAfterMs: 30_000 });
 */
export class RateLimitedError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'RATE_LIMITED';

  static {
    brand(this, 'RateLimitedError');
  }

  /** @internal */
  protected static override readonly isOfHandlers = true;

  /** The time the queue rests, in ms. */
  readonly retryAfterMs: number;
  /** The limit that rests in place of the queue; one of the queue's `limits`. */
  declare readonly limit?: string;

  constructor(
    { retryAfterMs, limit }: { retryAfterMs: number; limit?: string | undefined },
    message = `rate limited for ${retryAfterMs} ms`,
  ) {
    super(message);
    this.retryAfterMs = retryAfterMs;
    if (limit !== undefined) this.limit = limit; // Node prints each field of an error
    checkRest(retryAfterMs);
  }
}

function checkRest(retryAfterMs: unknown): asserts retryAfterMs is number {
  if (typeof retryAfterMs !== 'number' || !(retryAfterMs >= 1 && retryAfterMs <= LONGEST_REST_MS)) {
    const found =
      typeof retryAfterMs === 'number' ? String(retryAfterMs) : `a value of the type ${typeof retryAfterMs}`;
    throw new InvalidOptionError('retryAfterMs', 'a number of ms from 1 to a day', found);
  }
}

/**
 * Returns how long a RateLimitedError rests the queue, or a limit of it. Undefined for any other error.
 *
 * @throws InvalidOptionError for an imitated one
 */
export function retryAfterOf(error: unknown): { restMs: number; limit: string | undefined } | undefined {
  if (!isRateLimited(error)) {
    return undefined;
  }
  const { retryAfterMs, limit } = error;
  checkRest(retryAfterMs);
  return { restMs: Math.ceil(retryAfterMs), limit };
}

const isRetryLater: (error: unknown) => error is RetryLaterError = brandCheck('RetryLaterError');
const isRateLimited: (error: unknown) => error is RateLimitedError = brandCheck('RateLimitedError');

/** Another version of the library wrote the keys of a queue. This version cannot use their layout. */
export class QueueLayoutError extends RedisUnsuitableError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'QUEUE_LAYOUT';

  constructor(
    /** The name of the queue. */
    readonly queue: string,
    /** The layout in Redis. */
    readonly found: number,
    /** The layout that this version can use and that is the nearest to the one in Redis. */
    readonly known: number,
  ) {
    const [bound, age, remedy] =
      found > known
        ? ['most', 'a newer', 'Upgrade nest-job-queue in this process, or use another prefix']
        : ['least', 'an older', 'Let that version end the jobs and purge the queue, or use another prefix'];
    super(
      `Queue ${show(queue)} in Redis: expected a layout of at ${bound} ${known}, found ${found}, which ${age} version of ` +
        `nest-job-queue wrote. ${remedy}.`,
    );
  }
}

/** The files of the package changed after this process had loaded a part of them. Calls that need the rest fail. */
export class FilesReplacedError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'FILES_REPLACED';

  constructor(found: string, options?: ErrorOptions) {
    super(`The files of nest-job-queue were replaced under this process; restart it. Found ${found}.`, options);
  }
}

/** The handler of a job threw a RateLimitedError more often than `maxRateLimitRetries` allows, so the job is a dead letter. */
export class RateLimitRetriesExhaustedError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'RATE_LIMIT_RETRIES_EXHAUSTED';

  constructor(
    /** The id of the job. */
    readonly jobId: string,
    /** The number of times its handler may throw a RateLimitedError. */
    readonly maxRateLimitRetries: number,
  ) {
    super(
      `Job ${jobId} met a rate limit more often than its maxRateLimitRetries of ${maxRateLimitRetries}. ` +
        'Redrive it once the limit is lifted, or raise maxRateLimitRetries.',
    );
  }
}

/** A job was snoozed more often than `maxSnoozes` allows, so it is a dead letter. */
export class SnoozesExhaustedError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'SNOOZES_EXHAUSTED';

  constructor(
    /** The id of the job. */
    readonly jobId: string,
    /** The number of times it may be snoozed. */
    readonly maxSnoozes: number,
  ) {
    super(
      `Job ${jobId} was snoozed more often than its maxSnoozes of ${maxSnoozes}. ` +
        'Redrive it once what it waits for is there, or raise maxSnoozes.',
    );
  }
}

/** Returns the error of a job that was released too often, by the reason of the release. */
export function exhaustedError(
  reason: 'rate_limited' | 'snooze',
  jobId: string,
  most: number,
): RateLimitRetriesExhaustedError | SnoozesExhaustedError {
  return reason === 'snooze'
    ? new SnoozesExhaustedError(jobId, most)
    : new RateLimitRetriesExhaustedError(jobId, most);
}

/** A request for a profile was refused and nothing was written, or there is no profile to download. Its `reason` says which. */
export class ProfileError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'PROFILE';

  constructor(
    /** The name of the queue. */
    readonly queue: string,
    /**
     * `busy`: another request is open. `unserved`: no worker is live. `unhandled`: no worker handles the name. `forbidden`: no worker
     * allows it. `absent`: there is no profile, or not yet. `failed`: the worker could not measure.
     */
    readonly reason: 'busy' | 'unserved' | 'unhandled' | 'forbidden' | 'absent' | 'failed',
    /** The reason and the next step, in sentences. */
    why: string,
  ) {
    super(`Queue "${queue}" has no profile for you: ${why}`);
  }
}

/** The schedule does not exist: it was never made, was removed, or no code declares it any more. */
export class ScheduleNotFoundError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'SCHEDULE_NOT_FOUND';

  constructor(
    /** The id of the schedule. */
    readonly scheduleId: string,
    /** The name of the queue. */
    readonly queue: string,
  ) {
    super(`Queue "${queue}" has no schedule ${scheduleId}: it was never made, or was removed.`);
  }
}

/** The cursor of a reader is none: it is not the id of an item of a stream. */
export class StreamCursorError extends InvalidOptionError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'STREAM_CURSOR';

  /** @param after the cursor, as the caller gave it */
  constructor(after: unknown) {
    super('stream.after', 'the id of an item of the stream', show(after), 'Leave it out to read from the start.');
  }
}

/** Thrown when a job joins a sealed batch. */
export class BatchSealedError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'BATCH_SEALED';

  constructor(
    /** The id of the batch. */
    readonly batch: string,
  ) {
    super(
      `Batch ${batch} is sealed, so no job can join it. Add all jobs before seal(), add them by a member that still runs (job.batch.add), or create another batch.`,
    );
  }
}

/** Thrown for an unknown batch: never created, unsealed for a week, or ended more than a week ago. */
export class BatchNotFoundError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'BATCH_NOT_FOUND';

  constructor(
    /** The id of the batch. */
    readonly batch: string,
  ) {
    super(
      `Batch ${batch} is not known. It was never created in this queue, was not sealed within a week, or ended more than a week ago.`,
    );
  }
}

/** Thrown if members of a batch are still open at the end of a wait for them. The batch continues. */
export class BatchTimeoutError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'BATCH_TIMEOUT';

  constructor(
    /** The id of the batch. */
    readonly batch: string,
    /** The duration of the wait, in ms. */
    readonly timeoutMs: number,
    open: number,
    isSealed = true,
  ) {
    const state = isSealed ? `has ${open} open members` : `is not sealed, and has ${open} open members`;
    super(`Batch ${batch} ${state} after ${timeoutMs} ms; the batch continues.`);
  }
}

/** Why a job takes no signal. */
export type SignalRefusal = 'ended' | 'moved' | 'late' | 'full' | 'other-name';

/** A job took no signal, and nothing was written. Its `reason` says why. */
export class SignalRefusedError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'SIGNAL_REFUSED';

  constructor(
    /** The id of the job. */
    readonly jobId: string,
    /** The name of the signal. */
    readonly signal: string,
    /**
     * `ended`: the job has completed, failed or was cancelled. `moved`: it is at another place now. `late`: its wait for the signal is over. `full`: it has as many
     * signals as a job may have. `other-name`: it is no job of the given definition.
     */
    readonly reason: SignalRefusal,
    /** The reason and the next step, in sentences. */
    why: string,
  ) {
    super(`Job ${jobId} takes no signal ${show(signal)}: ${why}`);
  }
}

/** Thrown by `job.waitFor`: the signal did not come in time. It is not retried; catch it, or set a `timeoutValue`. */
export class SignalTimeoutError extends NonRetryableError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'SIGNAL_TIMEOUT';

  constructor(
    /** The id of the job. */
    readonly jobId: string,
    /** The name of the signal. */
    readonly signal: string,
  ) {
    super(`Job ${jobId} got no signal ${show(signal)} in time.`);
  }
}

/**
 * Ends an attempt whose job waits for a signal, or sleeps. It is no failure, and uses no attempt. Do not catch it: what the
 * handler does afterwards has no effect on the job.
 */
export class JobWaitsError extends RetryLaterError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'JOB_WAITS';

  constructor(
    /** The id of the job. */
    readonly jobId: string,
    /** The name of the signal, or of the sleep. */
    readonly waitsFor: string,
  ) {
    super(0, `Job ${jobId} waits for ${show(waitsFor)}.`);
  }
}

/** The most causes of an error that are looked at. */
const MOST_CAUSES = 10;

/** Returns whether an error is this one, or has it as a cause. */
export function isFrom(error: unknown, origin: Error): boolean {
  let each = error;
  for (let i = 0; i < MOST_CAUSES && each instanceof Error; i++) {
    if (each === origin) return true;
    each = each.cause;
  }
  return false;
}
