import type { JobQueue } from '../queue/job-queue.js';
import type { ScheduleRecord } from '../queue/model/schedule.js';
import type { HistoryCounts, HistoryPoint, HistoryReport } from '../queue/model/history.js';
import type { QueueStats } from '../queue/model/job.js';
import type { WorkerRecord } from '../queue/model/worker-record.js';
import type { LostMember } from '../queue/operate/lost-members.js';
import type { LimitsInForce } from '../queue/model/limits.js';
import type { LimitsEntry, QueueSigns, RecentChange, RecentRates, SeenDeath } from './queue-signs.js';
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

/** The time in which dead letters count as harm, in ms. */
const LATELY_MS = 600_000;
/** A figure jumps if its last minutes are this many times as high as those before. */
const JUMP = 3;
/** The fewest minutes before a jump. */
const FEWEST_BEFORE = 5;
/** The least difference of a jump of the run time, in ms, and of the arrivals, in jobs per second. */
const LEAST_SLOWER_MS = 50;
const LEAST_MORE_PER_S = 0.5;

/** The shortest and the longest part of an open minute that shows a pace, in seconds. */
const SHORTEST_PACE_S = 15;
const LONGEST_PACE_S = 75;

/** The groups that a verdict names. */
const SHOWN_GROUPS = 2;

/** The most schedules that the signs look at. */
export const MOST_SCHEDULES = 100;

/** The part of the history that is read for the signs, in ms: an hour. */
export const SIGNS_HISTORY_MS = (RATE_STEPS * LONGEST_STEP + LATE + 1) * MINUTE_MS;

/** The most entries of the action log that are searched for the author of a limit. */
const MOST_ENTRIES = 10;

/** Returns the last changes of the limits of a queue, the newest first. */
export async function lastLimitsEntries({ actionLog }: JobQueue): Promise<LimitsEntry[]> {
  const entries = await actionLog.latest({ action: 'limits', limit: MOST_ENTRIES });
  return entries.map(({ by, at, subject }) => ({ by, at, what: subject }));
}

/**
 * Reads the facts for a verdict, and judges nothing: five script calls, whatever the length of the queue. A queue with
 * unfinished batches costs one more, and one for each queue of their members. Schedules, limits that were set at
 * run time, and groups that hold jobs back cost one more each.
 */
export async function readFacts(
  queue: JobQueue,
  reading: Promise<HistoryReport> = queue.history.read({ lastMs: SIGNS_HISTORY_MS }),
  readSchedules: () => Promise<readonly ScheduleRecord[]> = () => queue.schedules.list({ limit: MOST_SCHEDULES }),
  readLimitsEntries: () => Promise<readonly LimitsEntry[]> = () => lastLimitsEntries(queue),
): Promise<QueueFacts> {
  const [stats, limits, history, workers] = await Promise.all([
    queue.stats(),
    queue.limits.get(),
    reading,
    queue.workers(),
    queue.checkKeys(),
  ]);
  const schedules = stats.schedules ? await noneIfUnreadable(queue.name, readSchedules()) : [];
  const limitsSet = limits.source === 'set' ? await readLimitsEntries() : undefined;
  const waitingGroups = stats.heldByGroups ? await queue.groups.list({ limit: SHOWN_GROUPS }) : undefined;
  const lost = stats.batches ? await noneIfUnreadable(queue.name, queue.lostMembers()) : [];
  const more = { ...(limitsSet && { limitsSet }), ...(waitingGroups && { waitingGroups }) };
  return { queue: queue.name, stats, limits, history, workers, lostMembers: lost, schedules, ...more };
}

/** Reads the signs of a queue. */
export async function readSigns(queue: JobQueue): Promise<QueueSigns> {
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
  /** Absent for none. */
  schedules?: readonly ScheduleRecord[];
  /** Who set the limits in force, the newest first; absent if those of the code hold. */
  limitsSet?: readonly LimitsEntry[];
  /** The groups with the most waiting jobs; absent if none is held back. */
  waitingGroups?: readonly { name: string; pending: number }[];
}

/** Returns the signs of a queue from its other figures. */
export function signsOf({
  queue,
  stats,
  limits,
  history,
  workers,
  lostMembers,
  schedules,
  limitsSet,
  waitingGroups,
}: QueueFacts): QueueSigns {
  const { unserved, maintenanceOverdue, maintainedAt } = stats;
  const { at } = history;
  const sinceMaintenanceMs = maintainedAt ? at.getTime() - maintainedAt.getTime() : 0;
  const { maxRunning, restsUntil, rateLimit, nextStartAt, groups, configured } = limits;
  const usualRunMs = history.total?.run.p95 ?? undefined;
  return {
    queue,
    stats,
    at,
    rates: ratesOf(history, usualRunMs),
    hasEnded: hasEnded(history),
    ...paceOf(history, stats),
    diedLately: diedLately(history),
    deaths: deathsOf(history, workers, LATELY_MS),
    change: changeOf(history),
    lastHour: lastHourOf(history),
    usualRunMs,
    usualWaitMs: history.total?.wait.p50 ?? undefined,
    unserved: stats.workers > 0 ? unserved.filter(({ waitingMs }) => waitingMs > PATIENCE_MS) : [], // a worker may start
    restsUntil,
    rateLimit,
    nextStartAt,
    maxRunning,
    groupLimits: groups,
    limitsSet,
    ...(configured && { configured }),
    waitingGroups: waitingGroups?.map(({ name, pending }) => ({ name, pending })),
    lostMembers,
    schedules,
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

/**
 * Returns the pace since the last minute was closed, and of that minute while the open one is short. A single look has no
 * window of its own, and a repair must show in it.
 */
function paceOf({ closed, at, points }: HistoryReport, { totals }: QueueStats): Pick<QueueSigns, 'pace'> {
  const openS = closed ? (at.getTime() - closed.at.getTime()) / 1_000 : Infinity;
  const last = points.at(-1);
  if (!closed || openS > LONGEST_PACE_S || openS < 0) {
    return {};
  }
  const isShort = openS < SHORTEST_PACE_S;
  if (isShort && (!last || closed.at.getTime() - last.at.getTime() > 2 * MINUTE_MS)) {
    return {};
  }
  const before = isShort ? last : undefined;
  const seconds = openS + (before ? MINUTE_MS / 1_000 : 0);
  const perS = (...names: readonly (keyof HistoryCounts)[]) =>
    sum(names, (name) => Math.max(0, (totals[name] ?? 0) - (closed.totals[name] ?? 0)) + (before?.[name] ?? 0)) /
    seconds;
  return {
    pace: {
      inPerS: perS('enqueued'),
      outPerS: perS('completed', 'failed', 'cancelled'),
      failedPerS: perS('failed'),
    },
  };
}

/** Returns the jobs that ended in the last hour. */
function lastHourOf({ points, at }: HistoryReport): { died: number; ended: number } {
  const recent = points.filter((point) => at.getTime() - point.at.getTime() <= HOUR_MS);
  return { died: sum(recent, ({ failed }) => failed), ended: sum(recent, outOf) };
}

/** Returns the jobs that died in the last ten minutes. */
function diedLately({ points, at }: HistoryReport): number {
  return sum(points, (point) => (at.getTime() - point.at.getTime() <= LATELY_MS ? point.failed : 0));
}

/**
 * Returns the workers that died within some time, the last first. A worker that was only silent has announced itself
 * since, and is none.
 */
export function deathsOf(
  { marks, at }: HistoryReport,
  workers: readonly WorkerRecord[],
  withinMs: number,
): SeenDeath[] {
  const alive = new Map(workers.map(({ id, seenAt }) => [id, seenAt]));
  const byWorker = new Map<string, SeenDeath>();
  for (const { death, at: diedAt } of marks) {
    const isRecent = at.getTime() - diedAt.getTime() <= withinMs;
    if (death && isRecent && !((alive.get(death.worker)?.getTime() ?? 0) > diedAt.getTime())) {
      const known = byWorker.get(death.worker);
      const joined = known && { jobs: known.jobs + death.jobs, ran: [...known.ran, ...death.ran] };
      byWorker.set(death.worker, { ...death, ...joined, at: diedAt });
    }
  }
  return [...byWorker.values()].toReversed();
}

/** Returns what changed against the time before: the run time, or else the arrivals. */
function changeOf({ points }: HistoryReport): RecentChange | undefined {
  const slower = jumpOf(points, 'run', ({ run }) => run.p50 ?? undefined, LEAST_SLOWER_MS);
  const more = jumpOf(points, 'in', ({ enqueued }) => enqueued / 60, LEAST_MORE_PER_S);
  return slower && more ? { ...slower, alsoMore: true } : (slower ?? more);
}

/** Returns the jump of a figure. The median of its last minutes is far above that of the first minutes of the hour. */
function jumpOf(
  points: readonly HistoryPoint[],
  of: RecentChange['of'],
  figure: (point: HistoryPoint) => number | undefined,
  least: number,
): RecentChange | undefined {
  const known = points.flatMap((point) => {
    const value = figure(point);
    return value === undefined ? [] : [{ at: point.at, value }];
  });
  const recent = known.slice(-RATE_STEPS);
  const before = median(known.slice(0, -RATE_STEPS).slice(0, FEWEST_BEFORE * 2));
  const now = median(recent);
  if (known.length < FEWEST_BEFORE + RATE_STEPS || now < JUMP * before || now - before < least) {
    return undefined;
  }
  const last = known.findLastIndex(({ value }) => value < Math.sqrt(JUMP) * before);
  return last > known.length - 2 ? undefined : { of, before, now, since: known[last + 1]!.at };
}

function median(values: readonly { value: number }[]): number {
  return values.map(({ value }) => value).toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
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
