import type { Attempt } from '../attempt/attempt.js';
import type { FailureLog } from '../reports/failure-log.js';
import type { WorkerEvent } from '../handlers/worker-event.js';
import type { PrefetchLimit } from './prefetch-limit.js';

/** The slots that all queues of a process share under its own limit. */
export interface SharedTurns {
  /** How many jobs may be prefetched for these slots. */
  readonly limit: PrefetchLimit;
  /** Returns whether this number of slots is free. Claims in flight have reserved theirs. */
  hasSlotsFor(slots: number): boolean;
  /** True if another call of a bulk handler may begin. */
  readonly hasSlotForCall: boolean;
  /** True if the jobs here use all slots, or wait for them. */
  readonly isFull: boolean;
  /** Returns whether the next free slot is for a job that waits in this runner. */
  isNext(runner: object): boolean;
  /** Begins the waiting jobs of the runner that is next. */
  ask(): void;
  /** Counts the slots and the waiting jobs of a runner again. Called after each change of them. */
  count(runner: object): void;
}

/** The worker of a runner: receives its reports, and coordinates it with the other runners. */
export interface QueueRunnerHost<Runner = unknown> {
  readonly failures: FailureLog;
  /** Announces a queue whose limits the store does not know. Nothing is claimed until then. */
  announce(runner: Runner): void;
  /** Undefined without a limit of the process. */
  readonly shared?: SharedTurns | undefined;
  /** Called when a claim of the runner may find something. */
  expectsJobs(runner: Runner): void;
  /** Called after the claim that follows a wake. The wake may be of a schedule that another process made. */
  afterWake(runner: Runner, foundJobs: boolean): void;
  /** Called when there is something to send or to fetch. */
  changed(): void;
  /** Absent without a listener, so that no event is created. */
  emit: ((event: WorkerEvent) => void) | undefined;
  /** Called with each settlement that a runner has to send. */
  holdsSettlements(runner: Runner): void;
  /** Sends ended jobs before a waiting job begins, because that job may crash the process. */
  settle(): void;
  /** Starts an isolated job when nothing else runs in the worker. Its claim was requested at `askedAtMs`. */
  isolate(runner: Runner, attempt: Attempt, askedAtMs: number): void;
  /** Called with a claim that has an isolated job, before any job of the claims of its trip begins. */
  expectIsolated(): void;
  /** Returns whether other jobs of the claims of an isolated job go back. */
  sendsBack(): boolean;
  /** Releases the isolated jobs of a closed runner that have not started. */
  releaseIsolated(runner: Runner): void;
  /** Ends the wait in flight, which asks for more jobs than there is room for. */
  interruptWait(): void;
  readonly warn: (message: string) => void;
}
