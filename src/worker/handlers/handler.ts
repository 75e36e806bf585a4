import { type Backoff, OF_PATTERN, type PatternRetries } from '../../queue/model/backoff.js';
import type { ClaimedJob } from '../../queue/model/job.js';
import type { ResolvedQueueOptions } from '../../queue/model/queue-options.js';
import type { SlotRange } from '../../queue/model/slots.js';
import { ANY_NAME } from '../../queue/validation/names.js';
import type { Job } from './job.js';
import type { AttemptLimits } from '../../queue/store/attempt-forms.js';

/** Runs one job. The return value is the job's result; an error fails the attempt. */
export type HandlerFunction<Payload = unknown, Result = unknown> = {
  // A method, so that a handler of a narrower payload fits into a list of handlers.
  handle(job: Job<Payload>): Result | Promise<Result>;
}['handle'];

/** The options of a handler, for jobs whose enqueue did not set them. */
export interface HandlerOptions {
  /** The number of times a job is tried in all. @default the queue's */
  maxAttempts?: number | undefined;
  /** The number of attempts that may end in a crash of the worker. @default the queue's */
  maxCrashes?: number | undefined;
  /** The number of times it may throw a RateLimitedError for one job, before the job is a dead letter. @default the queue's */
  maxRateLimitRetries?: number | undefined;
  /** The number of times it may snooze one job, before the job is a dead letter. @default the queue's */
  maxSnoozes?: number | undefined;
  /** The time a failed job waits before its next attempt. @default the queue's */
  backoff?: Backoff | undefined;
  /** The time one attempt may run before its signal aborts and it fails, in ms. @default without a limit */
  timeoutMs?: number | undefined;
  /**
   * The time a handler may run after its `timeoutMs`, in ms. Until it ends, the claim is kept and no retry starts.
   * After the grace the attempt fails, and a retry may run beside the handler. 0: it fails at once.
   * @default 10,000
   */
  timeoutGraceMs?: number | undefined;
  /**
   * How much of the `concurrency` one of its jobs takes, of its queue and of the process. Such a job waits in its process until so
   * many slots are free. Later jobs of its queue wait behind it. With a range each enqueue says its number. Not in a queue with a
   * bulk handler.
   *
   * @default 1
   * @example slots: { default: 1, most: 8 }
   */
  slots?: number | SlotRange | undefined;
  /** True if the result is stored. @default true */
  keepResult?: boolean | undefined;
  /** The time a completed job can be read, in ms. @default the queue's */
  resultTtlMs?: number | undefined;
}

/** A handler with its options, as a worker takes it. */
export interface Handler extends HandlerOptions {
  /** Runs a job. */
  handle: HandlerFunction;
}

/** The limits of the jobs of a queue's handlers in one worker. */
export interface HandlerLimits {
  /** The limits of all handlers, for the server to know. */
  readonly all: readonly AttemptLimits[];
  /** The limits of names without a handler of their own. */
  readonly others: Limits;
  /** The limits of names that differ from `others`. */
  readonly own: readonly AttemptLimits[];
}

/** Returns the limits for the jobs of each handler: its own, else those of the queue. */
export function handlerLimits(handlers: ReadonlyMap<string, HandlerOptions>, ofQueue: Limits): HandlerLimits {
  const all = [...handlers].map(
    ([name, { maxAttempts = ofQueue.maxAttempts, maxCrashes = ofQueue.maxCrashes }]) => ({
      name,
      maxAttempts,
      maxCrashes,
    }),
  );
  const others = all.find(({ name }) => name === ANY_NAME) ?? ofQueue;
  const own = all.filter(
    ({ maxAttempts, maxCrashes }) => maxAttempts !== others.maxAttempts || maxCrashes !== others.maxCrashes,
  );
  return { all, others, own };
}

type Limits = Pick<AttemptLimits, 'maxAttempts' | 'maxCrashes'>;

/** The retries of the jobs of one handler. */
export interface HandlerRetries extends Pick<HandlerOptions, 'backoff'> {
  /** The retries of a job of the Redis pattern, where neither the handler nor the queue sets them. */
  ofPattern?: PatternRetries;
}

/** Returns the retries of a handler's jobs: its own, else those of the queue. */
export function retriesOf({ maxAttempts, backoff }: HandlerOptions, ofQueue: ResolvedQueueOptions): HandlerRetries {
  const ofPattern: PatternRetries = { ...ofQueue[OF_PATTERN] };
  if (maxAttempts !== undefined) {
    delete ofPattern.maxAttempts;
  }
  if (backoff !== undefined) {
    delete ofPattern.backoff;
  }
  return { backoff: backoff ?? ofQueue.backoff, ofPattern };
}

/** Returns a claim with its retries: those of the pattern for a job that a client of the pattern wrote. */
export function withRetries(claim: ClaimedJob, { ofPattern = {} }: HandlerRetries): ClaimedJob {
  if (!claim.nameless) {
    return claim;
  }
  return { ...claim, options: ofPattern, maxAttempts: ofPattern.maxAttempts ?? claim.maxAttempts };
}
