import type { JobQueue } from '../../queue/job-queue.js';
import { systemClock, type Clock, type Timer } from '../../queue/runtime/clock.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import { groupBy } from '../../queue/runtime/group-by.js';
import { keptArray } from '../../queue/runtime/kept.js';
import type { QueueStore } from '../../queue/store/queue-store.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import type { Place } from '../../queue/store/verbs/queues-verbs.js';
import { FaultLog } from '../reports/fault-log.js';
import type { TickReport } from '../../queue/schedules/schedules.js';

/** The longest interval between two looks at a queue, in ms, because other processes may make schedules. */
const LOOK_MS = 5_000;

/** The most workers of a fleet that look one after another. */
const MOST_TURNS = 6;

/** The turns of a worker in the looks of its fleet; see FleetTurns. */
export interface LooksInTurn {
  untilNext(intervalMs: number, mostTurns: number): number;
}

/** The number of queues that are asked one by one. */
const FEW = 4;

const PLACES: readonly Place[] = ['scheduleDue'];

const LOOK_LIMIT = { timeoutMs: LOOK_MS };

/** The most slices of ticks in one run. So a run ends even if more comes due than it can make. */
const MOST_SLICES = 100;

/**
 * Makes the ticks of schedules close to their due times. Every replica may do it: the server lets one of them make a
 * tick. The server's clock determines its waits.
 */
export class ScheduleTicker implements BackgroundRole {
  private timer: Timer | undefined;
  private running: Promise<void> | undefined;
  private again = false;
  private stopped = false;
  private nextInMs = LOOK_MS;
  private unsubscribe: (() => void)[] = [];
  private readonly opened = new Map<JobQueue, StoreCalls>();
  /** The calls of the last look at each server, so that its keys are built once. */
  private readonly looked = new Map<string, readonly StoreCalls[]>();
  private readonly faults: FaultLog;

  constructor(
    private readonly queues: readonly JobQueue[],
    private readonly logger: JobQueueLogger,
    private readonly turns?: () => LooksInTurn | undefined,
  ) {
    this.faults = new FaultLog(logger);
  }

  private get clock(): Clock {
    return this.queues[0]?.store.clock ?? systemClock;
  }

  start(): void {
    if (this.stopped) {
      return; // by a stop that did not wait for the start
    }
    this.unsubscribe = this.queues.map((queue) => queue.schedules.onChange(() => void this.runOnce()));
    void this.runOnce();
  }

  /** Prevents further runs, and ends a current one with its slice. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.unsubscribe.forEach((end) => end());
    this.clock.clear(this.timer);
    await this.running;
  }

  /** Makes all due ticks. A call during a run adds another run after it. */
  runOnce(): Promise<void> {
    if (this.running) {
      this.again = true;
    }
    this.running ??= this.run().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  private async run(): Promise<void> {
    this.clock.clear(this.timer);
    do {
      this.again = false;
      this.nextInMs = this.turns?.()?.untilNext(LOOK_MS, MOST_TURNS) ?? LOOK_MS;
      await this.tickAll();
    } while (this.again && !this.stopped);
    if (!this.stopped) {
      this.clock.clear(this.timer);
      this.timer = this.clock.setTimeout(() => void this.runOnce(), this.nextInMs);
    }
  }

  /** Ticks the queues that may have schedules. One look for all of a server costs less than a call for each. */
  private async tickAll(): Promise<void> {
    const { store } = this.queues[0] ?? {};
    const tick = (queues: readonly JobQueue[]) => Promise.all(queues.map((queue) => this.tickQueue(queue)));
    if (this.queues.length <= FEW || !store?.isReady) {
      await tick(this.queues);
      return;
    }
    await this.openAll();
    const unknown = this.queues.filter((queue) => !this.opened.has(queue));
    const servers = groupBy(
      this.queues.filter((queue) => this.opened.has(queue)),
      (queue) => store.serverOf(this.opened.get(queue)!),
    );
    const tickThoseOf = async ([server, queues]: [string, JobQueue[]]) =>
      tick(await this.withSchedules(store, server, queues));
    await Promise.all([tick(unknown), ...[...servers].map(tickThoseOf)]);
  }

  /** Returns the queues of a server that may have schedules. */
  private async withSchedules(store: QueueStore, server: string, queues: readonly JobQueue[]): Promise<JobQueue[]> {
    const calls = keptArray(
      this.looked.get(server),
      queues.map((queue) => this.opened.get(queue)!),
    );
    this.looked.set(server, calls);
    const looks = await store.queues.look(calls, PLACES, LOOK_LIMIT);
    return queues.filter((_, i) => {
      const look = looks[i]!;
      return !look.ok || look.reply.found.size > 0;
    });
  }

  /** Opens all queues. The tick of one that cannot be opened says why. */
  private async openAll(): Promise<void> {
    const others = this.queues.filter((queue) => !this.opened.has(queue));
    const open = (queue: JobQueue) => queue.calls().then((calls) => this.opened.set(queue, calls));
    await Promise.allSettled(others.map(open));
  }

  private async tickQueue(queue: JobQueue): Promise<void> {
    // While the server is away a call would only wait in the client.
    if (!queue.store.isReady) {
      return;
    }
    try {
      for (let i = 0, more = true; i < MOST_SLICES && more && !this.stopped; i++) {
        const report = await queue.schedules.tick();
        this.nextInMs = Math.max(1, Math.min(this.nextInMs, report.nextDueInMs ?? Infinity));
        // If no tick could be made, another look would find the same.
        more = report.more && report.enqueued + report.skipped > 0;
        this.logFaults(queue, report);
        if (report.moved > 0) {
          this.logger.warn(
            `The due times of ${report.moved} schedules of queue "${queue.name}" came from a clock that was ahead; they tick by the clock of now.`,
          );
        }
      }
      this.faults.succeeded(queue.name);
    } catch (error) {
      this.faults.failed(queue.name, `Could not make the ticks of queue "${queue.name}"; trying again`, error);
    }
  }

  private logFaults(queue: JobQueue, { faults }: TickReport): void {
    faults.forEach(({ id, reason }) =>
      this.logger.warn(`Schedule "${id}" of queue "${queue.name}" cannot tick here: ${reason}`),
    );
  }
}
