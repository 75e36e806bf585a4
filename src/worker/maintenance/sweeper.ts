import { heartbeatIntervalMs } from '../runner/heartbeat.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import { ForeignClients } from './foreign-clients.js';
import { SafeLogger } from '../../queue/errors/safe-logger.js';
import { limitOf } from '../../queue/runtime/bounds.js';
import { systemClock, type Clock, type Timer } from '../../queue/runtime/clock.js';
import { tendBatches } from '../../queue/operate/tend-batches.js';
import type { StoreCall } from '../../queue/store/store-call.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import { FaultLog } from '../reports/fault-log.js';
import { FailureLog } from '../reports/failure-log.js';
import { HistoryKeeper } from './history-keeper.js';
import { EndReports } from './end-reports.js';
import type { WorkerEventListener } from '../reports/worker-event.js';

/** The most jobs that one script call of a sweep moves. */
const SLICE = 200;

/** The most slices of a kind in one run. So a run ends even if more expires than it can reclaim. */
const MOST_SLICES = 500;

/** The longest time that a sweep relies on another process's tidy, in ms. */
const LONGEST_PACE_MS = 30_000;

/** The result of one sweep. */
interface SweepReport {
  reclaimed: number;
  promoted: number;
  adopted: number;
}

/** The options of a sweeper. */
interface SweeperOptions {
  /** Receives each job whose last permitted crash it was; absent without a listener. */
  emit?: WorkerEventListener | undefined;
  failures?: FailureLog;
  /** Default: that of the first queue. The queues of an app may become known later. */
  clock?: Clock;
  /** The version of the app, for the history. */
  version?: string | undefined;
}

/**
 * Maintains queue by queue. It reclaims expired claims, promotes due jobs, and adopts dead claims of clients of the
 * Redis pattern. It also deletes old data. Every replica may run it at the same time. One of them tidies for all,
 * because tidying costs more with longer histories.
 */
export class Sweeper implements BackgroundRole {
  private timer: Timer | undefined;
  private running: Promise<SweepReport> | undefined;
  private stopped = false;
  private readonly foreignClients: ForeignClients;
  private readonly history: HistoryKeeper;
  private readonly failures: FailureLog;
  private readonly reports: EndReports;
  private readonly faults: FaultLog;
  private readonly clock: Clock;

  constructor(
    private readonly queues: readonly JobQueue[],
    readonly intervalMs: number,
    logger: JobQueueLogger,
    { emit, failures, clock, version = '' }: SweeperOptions = {},
  ) {
    this.faults = new FaultLog(logger);
    this.clock = clock ?? queues[0]?.store.clock ?? systemClock;
    this.failures = failures ?? new FailureLog(SafeLogger.of(logger), true, this.clock);
    this.reports = new EndReports(logger, this.failures, emit);
    this.foreignClients = new ForeignClients(logger);
    this.history = new HistoryKeeper(intervalMs, version);
  }

  start(): void {
    this.timer = this.clock.setInterval(() => void this.runOnce(), this.intervalMs);
  }

  /** Prevents further runs, and ends a current one with its slice. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.clock.clear(this.timer);
    this.foreignClients.stop();
    await this.running;
    this.failures.flush();
  }

  /** Sweeps all queues, or returns the sweep in progress. An error in one queue does not stop the others. */
  runOnce(): Promise<SweepReport> {
    this.running ??= this.sweep().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  private async sweep(): Promise<SweepReport> {
    const report: SweepReport = { reclaimed: 0, promoted: 0, adopted: 0 };
    for (const queue of this.queues) {
      try {
        await this.sweepQueue(queue, report);
        this.faults.succeeded(queue.name);
      } catch (error) {
        this.faults.failed(queue.name, `Could not sweep queue "${queue.name}"; the next sweep tries again`, error);
      }
    }
    return report;
  }

  private async sweepQueue(queue: JobQueue, report: SweepReport): Promise<void> {
    const { visibilityMs } = queue.options;
    // A gap this long means that the server was away, not that a sweeper was late. Then live workers get one heartbeat.
    const gapMs = Math.max(visibilityMs / 2, 2 * this.intervalMs);
    await this.inSlices(async () => {
      const { reclaimed, more } = await this.run(queue, (calls) =>
        calls.sweep.reclaim(SLICE, gapMs, heartbeatIntervalMs(queue.options), this.intervalMs),
      );
      report.reclaimed += reclaimed.length;
      await this.reports.reclaimed(queue, reclaimed);
      return more;
    });
    await this.inSlices(async () => {
      const moved = await this.run(queue, (calls) => calls.sweep.promote(SLICE));
      report.promoted += moved;
      return moved === SLICE;
    });
    const adopted = await this.run(queue, (calls) => calls.sweep.adoptForeign(SLICE, this.paceMs));
    report.adopted += adopted.reclaimed.length + adopted.deadLetters;
    this.failures.adopted(queue.name, adopted.deadLetters);
    await this.reports.reclaimed(queue, adopted.reclaimed);
    await this.foreignClients.saw(queue, adopted);
    await this.inSlices(async (i) => {
      const { more, dropped } = await this.run(queue, (calls) =>
        calls.sweep.tidy(SLICE, i === 0 ? this.paceMs : 0),
      );
      this.failures.dropped(queue.name, dropped);
      return more;
    });
    await tendBatches(queue, {
      limit: limitOf(this.intervalMs),
      isStopped: () => this.stopped,
      onFailed: (ids) => this.reports.unmet(queue, ids),
    });
    await this.history.keep(queue);
  }

  /** Less than the interval, so that a lone process misses no turn if its timer is slightly early. */
  private get paceMs(): number {
    return Math.floor(0.75 * Math.min(this.intervalMs, LONGEST_PACE_MS));
  }

  private run<Reply>(queue: JobQueue, build: (calls: StoreCalls) => StoreCall<Reply>): Promise<Reply> {
    return queue.exec(build, limitOf(this.intervalMs));
  }

  private async inSlices(slice: (i: number) => Promise<boolean>): Promise<void> {
    for (let i = 0; i < MOST_SLICES && !this.stopped; i++) {
      if (!(await slice(i))) {
        return;
      }
    }
  }
}
