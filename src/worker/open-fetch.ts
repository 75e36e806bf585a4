import type { QueueStore } from '../queue/store/queue-store.js';
import type { ResolvedWorkerOptions } from './worker-options.js';
import { IdleWait, type IdleWaitListener } from './fetch/idle-wait.js';
import type { QueueRunner } from './runner/queue-runner.js';

/** A worker whose runners wait for jobs. */
interface WaitingWorker {
  readonly worker: string;
  readonly runners: readonly QueueRunner[];
  readonly store: QueueStore;
  readonly options: ResolvedWorkerOptions;
  /** Returns how many more jobs the process may claim. */
  readonly capacity: () => number;
}

/**
 * Returns the runners that share a connection. On one server that is all runners, because each reply would end the
 * others' wait. In a Cluster each has its own.
 */
export function runnersTogether(
  runners: readonly QueueRunner[],
  { isSharded }: QueueStore,
): (readonly QueueRunner[])[] {
  return isSharded ? runners.map((runner) => [runner]) : [runners];
}

/** Returns the waits for jobs, one for each connection. */
export function openIdleWaits(
  { worker, runners, store, options, capacity }: WaitingWorker,
  listener: IdleWaitListener,
): IdleWait[] {
  const { logger, concurrency } = options;
  const claimsAlong = concurrency === undefined;
  return runnersTogether(runners, store).map(
    (together) => new IdleWait({ worker, runners: together, capacity, claimsAlong, store, logger }, listener),
  );
}
