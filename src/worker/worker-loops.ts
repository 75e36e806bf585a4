import type { QueueStore, StoreTransport } from '../queue/store/queue-store.js';
import type { FetchLiveness } from './fetch/fetch-liveness.js';
import { FetchLoop } from './fetch/fetch-loop.js';
import type { FleetTurns } from './fetch/fleet-turns.js';
import type { ProcessCapacity } from './fetch/process-capacity.js';
import { Sweeper } from './maintenance/sweeper.js';
import { openIdleWaits, runnersTogether, type JobWait } from './open-fetch.js';
import { watchDeath } from './reports/death-watch.js';
import type { FailureLog } from './reports/failure-log.js';
import { eventListener, safeListener } from './reports/safe-listener.js';
import type { CrashIsolation } from './runner/crash-isolation.js';
import { Heartbeat, heartbeatIntervalMs } from './runner/heartbeat.js';
import type { QueueRunner } from './runner/queue-runner.js';
import { SharedIntervals } from './runner/shared-intervals.js';
import type { ResolvedWorkerOptions, WorkerQueue } from './worker-options.js';

/** The parts of a worker from its construction to its end. */
export interface WorkerParts {
  readonly id: string;
  readonly store: QueueStore;
  readonly options: ResolvedWorkerOptions;
  readonly queues: readonly WorkerQueue[];
  readonly slots: ProcessCapacity;
  readonly isolation: CrashIsolation;
  readonly failures: FailureLog;
  readonly liveness: FetchLiveness;
  /** Called when there is something to send or to fetch. */
  readonly changed: () => void;
}

/** The loops of a started worker: its round trips, its waits for jobs, its heartbeats and its sweeps. */
export class WorkerLoops {
  readonly trips: FetchLoop;
  readonly waits: readonly JobWait[];
  private readonly transport: StoreTransport;
  private heartbeats: readonly Heartbeat[] = [];
  private sweeper: Sweeper | undefined;
  private endDeathWatch: (() => void) | undefined;

  /** @param turns the turns of the worker in its fleet; undefined if it looks by itself */
  constructor(
    private readonly worker: WorkerParts,
    private readonly runners: readonly QueueRunner[],
    turns: FleetTurns | undefined,
  ) {
    const { id, store, options, slots, liveness, changed } = worker;
    const { logger } = options;
    const answered = (): void => {
      liveness.answered();
      changed();
    };
    this.transport = store.transport(logger);
    this.trips = new FetchLoop(
      {
        worker: id,
        together: runnersTogether(runners, store),
        room: slots.measuredRoom,
        claimsFromOne: options.claimsFromOne,
        transport: this.transport,
        clock: store.clock,
        logger,
      },
      { answered, measure: safeListener(options.onTrip, logger) },
    );
    this.waits = openIdleWaits(
      { worker: id, runners, store, options, turns, capacity: slots.capacity, hasNoSlot: slots.hasNoSlot },
      {
        onWake: answered,
        onLongWait: (ms) => liveness.waitsFor(ms),
        onDue: changed,
        onCancel: (runner) => void this.heartbeats.find((each) => each.runner === runner)?.runOnce(),
      },
    );
  }

  start(): void {
    const { options, isolation } = this.worker;
    this.heartbeats = this.startHeartbeats();
    this.waits.forEach((wait) => wait.start());
    const releaseIsolated = () => isolation.releaseAll();
    this.endDeathWatch = watchDeath(() => this.runners, options.logger, releaseIsolated);
    this.sweeper = this.startSweeper();
  }

  private startHeartbeats(): Heartbeat[] {
    const { options, store } = this.worker;
    const intervals = new SharedIntervals(store.clock);
    const heartbeats = this.runners.map(
      (runner) => new Heartbeat(runner, heartbeatIntervalMs(runner.queue.options), options.logger, intervals),
    );
    heartbeats.forEach((heartbeat) => heartbeat.start());
    return heartbeats;
  }

  /** Starts to maintain the queues. Returns undefined if another process does it. */
  private startSweeper(): Sweeper | undefined {
    const { queues, failures, options } = this.worker;
    const { logger, middleware, onEvent, sweepIntervalMs, version } = options;
    if (sweepIntervalMs === 0) {
      return undefined;
    }
    const served = queues.map(({ queue }) => queue);
    const emit = eventListener(middleware, onEvent, logger);
    const sweeper = new Sweeper(served, sweepIntervalMs, logger, { emit, failures, version });
    sweeper.start();
    return sweeper;
  }

  /** Sends what is ready, and waits for idle runners. */
  check(): void {
    this.trips.flush();
    this.waits.forEach((wait) => wait.check());
  }

  interruptWaits(): void {
    this.waits.forEach((wait) => wait.interrupt());
  }

  /** The queues whose wakes do not reach this worker, although Redis confirmed its channels. */
  get unheard(): string[] {
    return this.waits.flatMap((wait) => ('unheard' in wait ? wait.unheard : []));
  }

  /** Ends the waits and the sweeps. Resolves when no claim of a wait is in flight. */
  async stop(): Promise<void> {
    await Promise.all([...this.waits, this.sweeper].map(async (role) => role?.stop()));
  }

  /** Ends without waiting for a reply. */
  abandon(): void {
    this.heartbeats.forEach((heartbeat) => heartbeat.stop());
    this.endDeathWatch?.();
    this.transport.close();
    this.waits.forEach((wait) => wait.abandon());
  }
}
