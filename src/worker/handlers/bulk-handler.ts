import type { HandlerFunction, HandlerOptions } from './handler.js';
import type { Job } from './job.js';

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
const DEFAULT_WAIT_MS = 50;

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

export function resolveBulkOptions({ size, waitMs = DEFAULT_WAIT_MS, by }: BulkOptions): ResolvedBulkOptions {
  return { size, waitMs, by };
}
