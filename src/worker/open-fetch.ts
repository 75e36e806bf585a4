import { MOST_ARGUMENTS } from '../queue/runtime/bounds.js';
import { slicesOf } from '../queue/runtime/collections.js';
import type { QueueStore } from '../queue/store/queue-store.js';
import type { ResolvedWorkerOptions } from './worker-options.js';
import { DirectedWait } from './fetch/directed-wait.js';
import { FleetTurns } from './fetch/fleet-turns.js';
import { IdleWait, MOST_CLAIMED_AT_ONCE, type IdleWaitListener } from './fetch/idle-wait.js';
import type { QueueRunner } from './runner/queue-runner.js';

/** The most queues of a wait. It names a key for the jobs of each, and one for its cancels. */
const MOST_WAITED_FOR = MOST_ARGUMENTS / 2;

/** A worker whose runners wait for jobs. */
interface WaitingWorker {
  readonly worker: string;
  readonly runners: readonly QueueRunner[];
  readonly store: QueueStore;
  readonly options: ResolvedWorkerOptions;
  /** Returns how many more jobs the process may claim. */
  readonly capacity: () => number;
  /** Returns whether jobs use all slots of the process. Claims in flight do not count. */
  readonly hasNoSlot: () => boolean;
  readonly turns?: FleetTurns | undefined;
}

/**
 * Returns the turns of a worker in the looks of its fleet. A worker of a few queues has its claims behind each wait instead,
 * so that no death loses a wake. In a Cluster each worker looks by itself.
 *
 * @param hasLimit true if the queues of the process share its `concurrency`, so that no claim is behind a wait
 */
export function openTurns(
  member: ConstructorParameters<typeof FleetTurns>[0],
  hasLimit: boolean,
): FleetTurns | undefined {
  const { store, runners } = member;
  return store.isSharded || (runners.length <= MOST_CLAIMED_AT_ONCE && !hasLimit)
    ? undefined
    : new FleetTurns(member);
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

export type JobWait = IdleWait | DirectedWait;

/**
 * Returns the waits for jobs. In a Cluster a few queues have one each, because a claim behind the wait saves a round trip.
 * Many queues are woken over the hub. On one server thousands of queues have several waits.
 */
export function openIdleWaits(
  { worker, runners, store, options, capacity, hasNoSlot, turns }: WaitingWorker,
  listener: IdleWaitListener,
): JobWait[] {
  const { logger, concurrency } = options;
  const claimsAlong = concurrency === undefined;
  const openWait = (together: readonly QueueRunner[]) =>
    new IdleWait({ worker, runners: together, capacity, hasNoSlot, claimsAlong, turns, store, logger }, listener);
  return store.isSharded && runners.length > MOST_CLAIMED_AT_ONCE
    ? [
        new DirectedWait(
          { worker, runners, capacity, hasNoSlot, store, logger, openWait: (runner) => openWait([runner]) },
          listener,
        ),
      ]
    : runnersTogether(runners, store)
        .flatMap((together) => slicesOf(together, MOST_WAITED_FOR))
        .map(openWait);
}
