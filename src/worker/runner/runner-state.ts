import type { JobQueue } from '../../queue/job-queue.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import type { ResolvedHandler } from '../bulk/resolve-bulk.js';
import type { ClaimBudget } from './claim-budget.js';
import type { ConfiguredLimits } from './permit-calls.js';

/** The queue of a runner, and how it is served. */
export interface RunnerOptions {
  readonly queue: JobQueue;
  readonly calls: StoreCalls;
  readonly handlers: ReadonlyMap<string, ResolvedHandler>;
  readonly concurrency: number;
  /** Undefined: by the measured pace. */
  readonly prefetch: number | undefined;
  /** The payload bytes that a claim may bring. Runners of one connection share it. */
  readonly budget: ClaimBudget;
  /** The id of the worker, which holds permits, and the limits of the app that queues share. Absent for none. */
  readonly sharing?: { readonly worker: string; readonly configured: ConfiguredLimits };
}

export interface RunnerState {
  /** The number of jobs that have a slot. */
  running: number;
  /** True during a local pause, and from a stop on: nothing is claimed, and nothing begins. */
  isClosed: boolean;
  /** True while nothing is claimed for a moment, after an error or a pass over other names. */
  isResting: boolean;
  /** True if the idle wait listens for this runner. */
  isBlockedOn: boolean;
  /** True once a job has begun here, which may have left a promise behind. */
  hasBegun: boolean;
}

export function newRunnerState(): RunnerState {
  return { running: 0, isClosed: false, isResting: false, isBlockedOn: false, hasBegun: false };
}
