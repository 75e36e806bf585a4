import { brand, brandCheck, ERROR_FAMILY, isErrorOf } from './brand.js';
import { YEAR_MS } from '../runtime/bounds.js';
import { counted, oneLine } from './one-line.js';

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
