import type { HistoryReport } from '../queue/model/history.js';
import type { QueueStats, WorkerRecord } from '../queue/model/job.js';
import type { LimitsInForce } from '../queue/store/store-calls.js';
import type { QueueSigns, RecentRates } from './queue-signs.js';

/** A name that waits for less than this is no sign: its worker may just be starting, in ms. */
const PATIENCE_MS = 10_000;
/** Overdue, and nobody knows for how long, in ms. */
const LONG_AGO_MS = 61_000;
/** A rate limit that lets the next job start sooner than this holds nothing back, in ms. */
const LONG_WAIT_MS = 1_000;
/** The rates are those of so many minutes: fewer would make a burst look like a trend. */
const RATE_MINUTES = 3;
/** Less than this share of what comes in goes out: the queue falls behind. */
const KEEPS_UP_SHARE = 0.9;

/** How much of the history the signs are read from, in ms: the last minutes that are over, and the open one. */
export const SIGNS_HISTORY_MS = (RATE_MINUTES + 2) * 60_000;

/** A queue as far as its signs are read; a JobQueue is one. */
export interface InspectedQueue {
  readonly name: string;
  readonly limits: { get(): Promise<LimitsInForce> };
  readonly history: { read(options: { lastMs: number }): Promise<HistoryReport> };
  stats(): Promise<QueueStats>;
  workers(): Promise<WorkerRecord[]>;
}

/** Reads what a verdict is made from: four script calls, whatever the length of the queue. */
export async function readSigns(queue: InspectedQueue): Promise<QueueSigns> {
  const [stats, limits, history, workers] = await Promise.all([
    queue.stats(),
    queue.limits.get(),
    queue.history.read({ lastMs: SIGNS_HISTORY_MS }),
    queue.workers(),
  ]);
  return signsOf({ queue: queue.name, stats, limits, history, workers });
}

/** What is known of a queue. */
export interface QueueFacts {
  queue: string;
  stats: QueueStats;
  limits: LimitsInForce;
  /** At least the last {@link SIGNS_HISTORY_MS}. */
  history: HistoryReport;
  workers: readonly WorkerRecord[];
}

/** The signs of a queue of which all else is known. */
export function signsOf({ queue, stats, limits, history, workers }: QueueFacts): QueueSigns {
  const { unserved, maintenanceOverdue, maintainedAt } = stats;
  const { at } = history;
  const sinceMaintenanceMs = maintainedAt ? at.getTime() - maintainedAt.getTime() : 0;
  const { maxRunning } = limits;
  return {
    queue,
    stats,
    at,
    rates: ratesOf(history),
    unserved:
      stats.workers > 0 ? unserved.filter(({ waitingMs }) => waitingMs > PATIENCE_MS).map(({ name }) => name) : [],
    limitedUntil: limits.restsUntil ?? longWait(limits.nextStartAt, at),
    maxRunning,
    ...slotsOf(workers),
    sinceMaintenanceMs: maintenanceOverdue ? Math.max(LONG_AGO_MS, sinceMaintenanceMs) : 0,
  };
}

/** The slots of all workers together; unknown where one of them does not say how many it has. */
function slotsOf(workers: readonly WorkerRecord[]): Pick<QueueSigns, 'slots' | 'stuckSlots'> {
  if (workers.length === 0 || workers.some(({ slots }) => slots === undefined)) {
    return {};
  }
  const sum = (of: (worker: WorkerRecord) => number) => workers.reduce((total, worker) => total + of(worker), 0);
  return { slots: sum(({ slots = 0 }) => slots), stuckSlots: sum(({ stuck = [] }) => stuck.length) };
}

function longWait(next: Date | undefined, at: Date): Date | undefined {
  return next && next.getTime() - at.getTime() > LONG_WAIT_MS ? next : undefined;
}

/** Undefined where the history does not reach up to now. */
function ratesOf({ points, at }: HistoryReport): RecentRates | undefined {
  const recent = points
    .filter((point) => at.getTime() - point.at.getTime() <= SIGNS_HISTORY_MS)
    .slice(-RATE_MINUTES);
  if (recent.length < RATE_MINUTES) {
    return undefined;
  }
  const sum = (of: (point: (typeof recent)[number]) => number) =>
    recent.reduce((total, point) => total + of(point), 0);
  const seconds = recent.length * 60;
  const failed = sum((point) => point.failed + point.retried);
  const ended = failed + sum((point) => point.completed);
  return {
    windowMs: recent.length * 60_000,
    in: sum(({ enqueued }) => enqueued) / seconds,
    out: sum(outOf) / seconds,
    attempts: ended,
    failedShare: ended > 0 ? failed / ended : 0,
    growing: recent.every((point) => outOf(point) < point.enqueued * KEEPS_UP_SHARE),
  };
}

function outOf({ completed, failed, cancelled }: { completed: number; failed: number; cancelled: number }): number {
  return completed + failed + cancelled;
}
