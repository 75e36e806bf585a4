import type { HistoryPoint, HistoryReport } from '../queue/model/history.js';
import type { QueueStats } from '../queue/model/job.js';
import type { WorkerRecord } from '../queue/model/worker-record.js';
import type { LostMember } from '../queue/operate/lost-members.js';
import type { LimitsInForce } from '../queue/store/verbs/limit-verbs.js';
import type { QueueSigns, RecentRates } from './queue-signs.js';
import { PATIENCE_MS } from './rule.js';
import { noneIfUnreadable } from './unreadable.js';

/** The age of an overdue maintenance of unknown age, in ms. */
const LONG_AGO_MS = 61_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** The number of steps of the rates. With fewer a burst would look like a trend. */
const RATE_STEPS = 3;
/** The longest step, in minutes. A step is as long as most handlers take: of long jobs none may end in a minute. */
const LONGEST_STEP = 19;
/** The current minute, and one that is not closed yet. */
const LATE = 2;
/** The queue falls behind if less than this share of the added jobs ends. */
const KEEPS_UP_SHARE = 0.9;

/** The part of the history that is read for the signs, in ms: an hour. */
export const SIGNS_HISTORY_MS = (RATE_STEPS * LONGEST_STEP + LATE + 1) * MINUTE_MS;

/** A queue as far as its signs are read; a JobQueue is one. */
export interface InspectedQueue {
  readonly name: string;
  readonly limits: { get(): Promise<LimitsInForce> };
  readonly history: { read(options: { lastMs: number }): Promise<HistoryReport> };
  stats(): Promise<QueueStats>;
  workers(): Promise<WorkerRecord[]>;
  checkKeys(): Promise<void>;
  lostMembers(): Promise<LostMember[]>;
}

/**
 * Reads the facts for a verdict, and judges nothing: five script calls, whatever the length of the queue. A queue with
 * unfinished batches costs one more, and one for each queue of their members.
 */
export async function readFacts(
  queue: InspectedQueue,
  reading: Promise<HistoryReport> = queue.history.read({ lastMs: SIGNS_HISTORY_MS }),
): Promise<QueueFacts> {
  const [stats, limits, history, workers] = await Promise.all([
    queue.stats(),
    queue.limits.get(),
    reading,
    queue.workers(),
    queue.checkKeys(),
  ]);
  const lost = stats.batches ? await noneIfUnreadable(queue.name, queue.lostMembers()) : [];
  return { queue: queue.name, stats, limits, history, workers, lostMembers: lost };
}

/** Reads the signs of a queue. */
export async function readSigns(queue: InspectedQueue): Promise<QueueSigns> {
  return signsOf(await readFacts(queue));
}

/** The facts about a queue. */
export interface QueueFacts {
  queue: string;
  stats: QueueStats;
  limits: LimitsInForce;
  /** At least the last {@link SIGNS_HISTORY_MS}. */
  history: HistoryReport;
  workers: readonly WorkerRecord[];
  /** Absent for none. */
  lostMembers?: readonly LostMember[];
}

/** Returns the signs of a queue from its other figures. */
export function signsOf({ queue, stats, limits, history, workers, lostMembers }: QueueFacts): QueueSigns {
  const { unserved, maintenanceOverdue, maintainedAt } = stats;
  const { at } = history;
  const sinceMaintenanceMs = maintainedAt ? at.getTime() - maintainedAt.getTime() : 0;
  const { maxRunning, restsUntil, rateLimit, nextStartAt, groups } = limits;
  const usualRunMs = history.total?.run.p95 ?? undefined;
  return {
    queue,
    stats,
    at,
    rates: ratesOf(history, usualRunMs),
    hasEnded: hasEnded(history),
    lastHour: lastHourOf(history),
    usualRunMs,
    unserved: stats.workers > 0 ? unserved.filter(({ waitingMs }) => waitingMs > PATIENCE_MS) : [], // a worker may start
    restsUntil,
    rateLimit,
    nextStartAt,
    maxRunning,
    groupLimits: groups,
    lostMembers,
    ...slotsOf(workers),
    pausedWorkers: workers.filter(({ paused }) => paused).length,
    sinceMaintenanceMs: maintenanceOverdue ? Math.max(LONG_AGO_MS, sinceMaintenanceMs) : 0,
  };
}

/** Returns the slots of all workers together; unknown if one of them does not announce its own. */
function slotsOf(workers: readonly WorkerRecord[]): Pick<QueueSigns, 'slots' | 'stuckSlots'> {
  if (workers.length === 0 || workers.some(({ slots }) => slots === undefined)) {
    return {};
  }
  return {
    slots: sum(workers, ({ slots = 0 }) => slots),
    stuckSlots: sum(workers, ({ stuck = [] }) => stuck.length),
  };
}

/** Returns the rates. Undefined if the history does not reach up to now, or is too short. */
function ratesOf(history: HistoryReport, usualRunMs: number | undefined): RecentRates | undefined {
  const step = usualRunMs === undefined ? 1 : stepFor(usualRunMs);
  const steps = lastSteps(history, step);
  if (!steps) {
    return undefined;
  }
  const points = steps.flat();
  const seconds = points.length * 60;
  const failed = sum(points, (point) => point.failed + point.retried);
  const attempts = failed + sum(points, ({ completed }) => completed);
  return {
    windowMs: points.length * MINUTE_MS,
    in: sum(points, ({ enqueued }) => enqueued) / seconds,
    out: sum(points, outOf) / seconds,
    attempts,
    failedShare: attempts > 0 ? failed / attempts : 0,
    // Without an ended handler the usual run time is unknown. Then only a long window shows a trend.
    growing: (usualRunMs === undefined ? lastSteps(history, LONGEST_STEP) : steps)?.every(grew) ?? false,
  };
}

/** Returns the jobs that ended in the last hour. */
function lastHourOf({ points, at }: HistoryReport): { died: number; ended: number } {
  const recent = points.filter((point) => at.getTime() - point.at.getTime() <= HOUR_MS);
  return { died: sum(recent, ({ failed }) => failed), ended: sum(recent, outOf) };
}

/** Returns whether any job ended in three minutes. A new queue has fewer, and its first burst is not slow. */
function hasEnded({ points, at }: HistoryReport): boolean {
  const sinceMs = at.getTime() - (RATE_STEPS + LATE) * MINUTE_MS;
  return points.some((point) => point.at.getTime() >= sinceMs && outOf(point) > 0);
}

/** Returns the number of minutes in a step. */
function stepFor(usualRunMs: number): number {
  return Math.min(LONGEST_STEP, Math.max(1, Math.ceil(usualRunMs / MINUTE_MS)));
}

/** Returns the minutes of the last steps, the oldest first. */
function lastSteps({ points, at }: HistoryReport, minutes: number): HistoryPoint[][] | undefined {
  const most = RATE_STEPS * minutes;
  const recent = points
    .filter((point) => at.getTime() - point.at.getTime() <= (most + LATE) * MINUTE_MS)
    .slice(-most);
  return recent.length === most
    ? Array.from({ length: RATE_STEPS }, (_, i) => recent.slice(i * minutes, (i + 1) * minutes))
    : undefined;
}

function grew(points: readonly HistoryPoint[]): boolean {
  return sum(points, outOf) < sum(points, ({ enqueued }) => enqueued) * KEEPS_UP_SHARE;
}

function sum<Each>(all: readonly Each[], of: (each: Each) => number): number {
  return all.reduce((total, each) => total + of(each), 0);
}

function outOf({ completed, failed, cancelled }: { completed: number; failed: number; cancelled: number }): number {
  return completed + failed + cancelled;
}
