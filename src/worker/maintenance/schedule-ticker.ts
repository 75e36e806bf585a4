import type { JobQueue } from '../../queue/job-queue.js';
import { systemClock } from '../../queue/runtime/clock.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import { groupBy } from '../../queue/runtime/group-by.js';
import { keptArray, keptIn } from '../../queue/runtime/kept.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import type { Place } from '../../queue/store/verbs/queues-verbs.js';
import { FaultLog } from '../reports/fault-log.js';
import type { TickReport } from '../../queue/schedules/schedules.js';
import { TimedRuns } from './timed-runs.js';

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
 * tick. The server's clock determines its waits. Each server has its own runs, so one without a reply delays no other.
 */
export class ScheduleTicker implements BackgroundRole {
  private stopped = false;
  private unsubscribe: (() => void)[] = [];
  private readonly runs = new Map<string, TimedRuns>();
  private readonly calls = new Map<JobQueue, StoreCalls>();
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

  start(): void {
    if (this.stopped) {
      return; // by a stop that did not wait for the start
    }
    this.unsubscribe = this.queues.map((queue) =>
      queue.schedules.onChange(() => void this.runsAt(this.serverOf(queue)).runOnce()),
    );
    void this.runOnce();
  }

  /** Prevents further runs, and ends the current ones with their slices. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.unsubscribe.forEach((end) => end());
    await Promise.all([...this.runs.values()].map((runs) => runs.stop()));
  }

  /** Makes all due ticks. A call during a run adds another run after it. */
  async runOnce(): Promise<void> {
    const servers = new Set(this.queues.map((queue) => this.serverOf(queue)));
    await Promise.all([...servers].map((server) => this.runsAt(server).runOnce()));
  }

  private runsAt(server: string): TimedRuns {
    const clock = this.queues[0]?.store.clock ?? systemClock;
    return keptIn(this.runs, server, () => new TimedRuns(clock, () => this.tickServer(server)));
  }

  /** Returns the server of a queue; '' also while the store is away. */
  private serverOf(queue: JobQueue): string {
    return queue.store.isReady ? queue.store.serverOf(this.callsOf(queue)) : '';
  }

  private callsOf(queue: JobQueue): StoreCalls {
    return keptIn(this.calls, queue, () => queue.uncheckedCalls());
  }

  /** Ticks the queues of a server that may have schedules. Returns the time to the next run; undefined without queues. */
  private async tickServer(server: string): Promise<number | undefined> {
    const nextInMs = this.turns?.()?.untilNext(LOOK_MS, MOST_TURNS) ?? LOOK_MS;
    // While the server is away a call would only wait in the client.
    if (this.queues.some(({ store }) => !store.isReady)) {
      return nextInMs;
    }
    const servers = groupBy(this.queues, (queue) => this.serverOf(queue));
    [...servers.keys()].filter((each) => !this.runs.has(each)).forEach((each) => void this.runsAt(each).runOnce());
    const queues = servers.get(server);
    if (!queues) {
      this.runs.delete(server); // its slots have moved
      this.looked.delete(server);
      return undefined;
    }
    const dueInMs = await Promise.all(
      (await this.withSchedules(server, queues)).map((queue) => this.tickQueue(queue)),
    );
    return Math.max(1, Math.min(nextInMs, ...dueInMs));
  }

  /** Returns the queues of a server that may have schedules. One look for many costs less than a call for each. */
  private async withSchedules(server: string, queues: readonly JobQueue[]): Promise<readonly JobQueue[]> {
    if (this.queues.length <= FEW) {
      return queues;
    }
    const calls = keptArray(
      this.looked.get(server),
      queues.map((queue) => this.callsOf(queue)),
    );
    this.looked.set(server, calls);
    const looks = await queues[0]!.store.queues.look(calls, PLACES, LOOK_LIMIT);
    return queues.filter((_, i) => {
      const look = looks[i]!;
      return !look.ok || look.reply.found.size > 0;
    });
  }

  /** Makes the due ticks of a queue. Returns the time to the next one. */
  private async tickQueue(queue: JobQueue): Promise<number> {
    let nextDueInMs = Infinity;
    try {
      for (let i = 0, more = true; i < MOST_SLICES && more && !this.stopped; i++) {
        const report = await queue.schedules.tick();
        nextDueInMs = Math.min(nextDueInMs, report.nextDueInMs ?? Infinity);
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
    return nextDueInMs;
  }

  private logFaults(queue: JobQueue, { faults }: TickReport): void {
    faults.forEach(({ id, reason }) =>
      this.logger.warn(`Schedule "${id}" of queue "${queue.name}" cannot tick here: ${reason}`),
    );
  }
}
