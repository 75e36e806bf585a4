import type { JobQueue } from '../../queue/job-queue.js';
import { type Backoff, OF_PATTERN, type PatternRetries } from '../../queue/model/backoff.js';
import type { ClaimedJob } from '../../queue/model/job.js';
import type { ResolvedQueueOptions } from '../../queue/model/queue-options.js';
import type { Recurrence } from '../../queue/model/schedule.js';
import type { SlotRange } from '../../queue/model/slots.js';
import type { ScheduleOptions, TypedScheduleOptions } from '../../queue/schedules/schedule.js';
import type { AttemptLimits } from '../../queue/store/attempt-forms.js';
import { ANY_NAME } from '../../queue/validation/names.js';
import type { Job } from './job.js';

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

/** The size of a bulk handler's calls. */
export interface BulkOptions {
  /** The most jobs of one call, 2 to 1,000. */
  size: number;
  /** The time the first job waits for others if there are fewer than `size`, in ms. @default 50. 0: it does not wait */
  waitMs?: number | undefined;
  /** `group`: all jobs of a call are of the same group; those without a group are called together. @default jobs of any group */
  by?: 'group' | undefined;
}

/** A call of a bulk handler. */
export interface BulkCall {
  /**
   * Aborts when the work of all jobs of the call has become pointless. The reason is that of the last job: a shutdown
   * or a timeout. Each job has its own `signal`.
   */
  readonly signal: AbortSignal;
}

/** The outcome of one job of a call: an Error fails its attempt, anything else is its result. */
export type BulkOutcome<Result = unknown> = Result | Error;

/**
 * The return value of a bulk handler. Nothing means that all jobs completed without a result. A list has an outcome for
 * each job, in order; a map has them by job or id. A job that is not in the map completed without a result.
 */
export type BulkOutcomes<Result = unknown> =
  | void
  | readonly BulkOutcome<Result>[]
  | ReadonlyMap<Job | string, BulkOutcome<Result>>;

/** Returns the outcome of one job from the value that the bulk handler returned. @param i the place of the job in the call */
export function outcomeOf(returned: unknown, job: Job, i: number): unknown {
  if (returned instanceof Map) {
    const byJob: ReadonlyMap<unknown, unknown> = returned;
    return byJob.has(job) ? byJob.get(job) : byJob.get(job.id);
  }
  return Array.isArray(returned) ? (returned as unknown[])[i] : undefined;
}

/** Does the work of several jobs in one call. An error of the function fails all of them. */
export type BulkHandlerFunction<Payload = unknown, Result = unknown> = {
  // A method, so that a handler of a narrower payload fits into a list of handlers.
  handle(jobs: Job<Payload>[], call: BulkCall): BulkOutcomes<Result> | Promise<BulkOutcomes<Result>>;
}['handle'];

/** A bulk handler with its options, as a worker takes it. */
export interface BulkHandler extends HandlerOptions {
  /** The size of a call, and how long its jobs are gathered. */
  bulk: BulkOptions;
  /** Runs the jobs of a call. */
  handle: BulkHandlerFunction;
}

/** The rules of gathering jobs. */
interface ResolvedBulkOptions extends Required<Pick<BulkOptions, 'size' | 'waitMs'>> {
  by: BulkOptions['by'];
}

/** A bulk handler as a queue runner takes it. */
export interface ResolvedBulk extends ResolvedBulkOptions {
  /** Runs the call, inside of the middleware. */
  call(jobs: Job[], call: BulkCall): unknown;
  /** Makes the handler of one job from the function by which the job joins the call. The schemas check that job. */
  around(join: HandlerFunction): HandlerFunction;
}

/** The time the first job of a call waits for others by default, in ms. */
const DEFAULT_BULK_WAIT_MS = 50;

/** Wraps each job of a bulk handler. It gets the function by which the job joins the call. */
export type AroundEachJob = (join: HandlerFunction) => HandlerFunction;

const around = new WeakMap<BulkHandlerFunction, AroundEachJob>();

/** Lets something act around each job of a bulk handler. */
export function setAroundEachJob(handle: BulkHandlerFunction, each: AroundEachJob): void {
  around.set(handle, each);
}

/** Returns the wrapper of each job of a bulk handler, or undefined if there is none. */
export function aroundEachJob({ handle }: BulkHandler): AroundEachJob | undefined {
  return around.get(handle);
}

export function resolveBulkOptions({ size, waitMs = DEFAULT_BULK_WAIT_MS, by }: BulkOptions): ResolvedBulkOptions {
  return { size, waitMs, by };
}

/** A recurring job that a worker's code declares. */
export interface DeclaredSchedule {
  /** Its due times. */
  recurrence: Recurrence;
  /** The payload must fit the schema if the handler of the name has a definition. */
  options?: ScheduleOptions | TypedScheduleOptions | undefined;
  /** The name of the schedule in errors. By default its id. @internal */
  subject?: string | undefined;
}

/** A queue as a worker serves it. */
export interface WorkerQueue {
  /** The served queue. */
  queue: JobQueue;
  /** The number of its jobs that this process runs at once. @default 10 */
  concurrency?: number | undefined;
  /**
   * The number of jobs that the worker claims beyond its running ones. The next job then starts without a round trip. A
   * prefetched job waits for a slot of this worker, and no other worker can take it. It is released when this worker
   * stops. 0 forbids prefetching. By default the worker prefetches what ends during a round trip, or up to ten jobs. By
   * its recent pace they start within 7 ms. If a prefetched job waits longer than 10 ms, its queue releases all of
   * them. Prefetching then pauses for 1 to 16 s. Under a limit of the process it never prefetches more than starts soon in the
   * slots of all queues.
   */
  prefetch?: number | undefined;
  /** The handlers by job name. A handler of the name `*` gets the jobs of every name without a handler here. */
  handlers: Readonly<Record<string, HandlerFunction | Handler | BulkHandler>>;
  /**
   * Handlers of final failures, by the name of the failed jobs. The script that makes a dead letter also enqueues one job
   * for it, so no failure is missed. The payload of that job is a JobFailure.
   *
   * @example onFailed: { email: (job: Job<JobFailure>) => alert(`${job.payload.id}: ${job.payload.error}`) }
   */
  onFailed?: Readonly<Record<string, HandlerFunction | Handler>> | undefined;
  /** Recurring jobs by schedule id. A schedule that no worker declares stops after 30 s and is removed after a day. */
  schedules?: Readonly<Record<string, DeclaredSchedule>> | undefined;
}
