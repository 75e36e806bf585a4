// Reads what the rules look at.
import type { JobQueue } from '../queue/job-queue.js';
import type { HistoryCounts, HistoryPoint, HistoryReport } from '../queue/model/history.js';
import type { JobRecord, QueueStats } from '../queue/model/job.js';
import type { LimitsInForce } from '../queue/model/limits.js';
import type { ScheduleRecord } from '../queue/model/schedule.js';
import { announcedCosts, announcedLimits, type SharedLimitState } from '../queue/model/shared-limit.js';
import { slotsOfJob, type WorkerRecord } from '../queue/model/worker-record.js';
import type { LostMember } from '../queue/operate/elsewhere.js';
import type {
  AwaitedKeys,
  LimitsEntry,
  QueueSigns,
  RecentPace,
  RecentRates,
  SeenDeath,
  RecentChange,
} from './queue-signs.js';
import { KEEPS_UP_SHARE, PATIENCE_MS } from './rule.js';
import { noneIfUnreadable } from './unreadable.js';
import { LIST_BYTES } from './walk-jobs.js';

/** The age of an overdue maintenance of unknown age, in ms. */
const LONG_AGO_MS = 61_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** The number of steps of the rates. With fewer a burst would look like a trend. */
const RATE_STEPS = 3;
/** The longest step, in minutes. A step is as long as most handlers take: of long jobs none may end in a minute. */
const LONGEST_STEP = 19;
/** The current minute, and one that is not closed yet. */
const UNCLOSED_MINUTES = 2;

/** The time in which dead letters count as harm, in ms. */
const LATELY_MS = 600_000;
/** The shortest and the longest part of an open minute that shows a pace, in seconds. */
const SHORTEST_PACE_S = 15;
const LONGEST_PACE_S = 75;

/** The groups that a verdict names. */
const SHOWN_GROUPS = 2;

/** The groups whose keys of shared limits a verdict names. */
const SHOWN_KEYS = 3;

/** The most schedules that the signs look at. */
export const MOST_SCHEDULES = 100;

/** The part of the history that is read for the signs, in ms: an hour. */
export const SIGNS_HISTORY_MS = (RATE_STEPS * LONGEST_STEP + UNCLOSED_MINUTES + 1) * MINUTE_MS;

/** The most entries of the action log that are searched for the author of a limit. */
const MOST_ENTRIES = 10;

/** Returns the last changes of the limits of a queue, the newest first. */
export async function lastLimitsEntries({ actionLog }: JobQueue): Promise<LimitsEntry[]> {
  const entries = await actionLog.latest({ action: 'limits', limit: MOST_ENTRIES });
  return entries.map(({ by, at, subject }) => ({ by, at, what: subject }));
}

/** The most claimed jobs that one reading takes of a queue. */
const MOST_CLAIMED = 100;

export function readClaimed(queue: JobQueue): Promise<JobRecord[]> {
  return queue.list('processing', { limit: MOST_CLAIMED, mostBytes: LIST_BYTES });
}

/** How some of the facts are read, where they are known already or are kept. */
interface FactReaders {
  history(): Promise<HistoryReport>;
  schedules(): Promise<readonly ScheduleRecord[]>;
  limitsEntries(): Promise<readonly LimitsEntry[]>;
  claimed(): Promise<readonly JobRecord[]>;
}

/**
 * Reads the facts for a verdict, and judges nothing: five script calls, whatever the length of the queue. The last days cost
 * three more in ten minutes. A queue with unfinished batches costs one more, and one for each queue of their members.
 * Schedules, limits that were set at run time, and groups that hold jobs back cost one more each. So does each limit
 * that it shares, and a queue whose jobs take several slots. If the groups rest for keys of a limit, that costs one more, and three for each limit.
 */
export async function readFacts(queue: JobQueue, given: Partial<FactReaders> = {}): Promise<QueueFacts> {
  const read: FactReaders = {
    history: () => queue.history.read({ lastMs: SIGNS_HISTORY_MS }),
    schedules: () => queue.schedules.list({ limit: MOST_SCHEDULES }),
    limitsEntries: () => lastLimitsEntries(queue),
    claimed: () => readClaimed(queue),
    ...given,
  };
  const [stats, limits, history, days, listed] = await Promise.all([
    queue.stats(),
    queue.limits.get(),
    read.history(),
    readDays(queue),
    queue.workers({ silent: true }),
    queue.checkKeys(),
  ]);
  const workers = listed.filter(({ holds }) => holds === undefined);
  const silent = listed.filter(({ holds }) => holds !== undefined);
  const schedules = stats.schedules ? await noneIfUnreadable(queue.name, read.schedules()) : [];
  const limitsSet = limits.source === 'set' ? await read.limitsEntries() : undefined;
  const waitingGroups = stats.heldByGroups ? await queue.groups.list({ limit: SHOWN_GROUPS }) : undefined;
  const lost = stats.batches ? await noneIfUnreadable(queue.name, queue.lostMembers()) : [];
  const sharedLimits = await noneIfUnreadable(queue.name, readSharedLimits(queue, workers));
  const awaitedKeys = stats.awaitingPermit
    ? await readAwaitedKeys(queue, sharedLimits).catch(() => undefined) // the master of a limit may be away
    : undefined;
  const isWeighted = stats.processing > 0 && workers.some(({ weights }) => weights);
  const claimed = isWeighted ? await noneIfUnreadable(queue.name, read.claimed()) : undefined;
  const more = {
    ...(claimed && { claimed }),
    ...(limitsSet && { limitsSet }),
    ...(waitingGroups && { waitingGroups }),
    ...(sharedLimits.length > 0 && { sharedLimits }),
    ...(awaitedKeys && { awaitedKeys }),
  };
  return {
    queue: queue.name,
    stats,
    limits,
    history,
    days,
    workers,
    silent,
    lostMembers: lost,
    schedules,
    ...more,
  };
}

/** Reads the limits that the queue shares with others, by what its workers announce. */
export async function readSharedLimits(
  queue: JobQueue,
  workers: readonly WorkerRecord[],
): Promise<SharedLimitState[]> {
  return Promise.all(announcedLimits(workers).map((name) => queue.sharedLimit(name).get()));
}

/** Reads for which keys of its limits groups of a queue rest. Undefined for none. */
async function readAwaitedKeys(
  queue: JobQueue,
  limits: readonly SharedLimitState[],
): Promise<AwaitedKeys | undefined> {
  if (!limits.some(({ keys }) => keys)) {
    return undefined;
  }
  const { groups, jobs, names } = await queue.exec((calls) => calls.groups.awaitingPermit({ limit: SHOWN_KEYS }));
  const keys = await Promise.all(names.map((group) => readFullKeys(queue, limits, group)));
  return keys.flat().length > 0 ? { groups, jobs, keys: keys.flat() } : undefined;
}

/** Reads the keys of limits for whose permits a group of the queue waits. */
export async function readFullKeys(
  queue: JobQueue,
  limits: readonly SharedLimitState[],
  group: string,
): Promise<SharedLimitState[]> {
  const used = limits.filter(({ keys }) => keys !== undefined);
  const states = await Promise.all(used.map((limit) => queue.sharedLimit(limit.name).key(group).getUnder(limit)));
  return states.filter(({ waiting }) => waiting.includes(queue.name));
}

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
  /** This hour of the last days. Absent: unknown. */
  days?: HistoryReport;
  workers: readonly WorkerRecord[];
  /** Workers that were seen within five minutes, and are silent since. Absent for none. */
  silent?: readonly WorkerRecord[];
  /** Absent for none. */
  lostMembers?: readonly LostMember[];
  /** Absent for none. */
  schedules?: readonly ScheduleRecord[];
  /** Who set the limits in force, the newest first; absent if those of the code hold. */
  limitsSet?: readonly LimitsEntry[];
  /** The groups with the most waiting jobs; absent if none is held back. */
  waitingGroups?: readonly { name: string; pending: number }[];
  /** The limits that the queue shares with others. Absent for none. */
  sharedLimits?: readonly SharedLimitState[];
  /** For which keys of these limits groups rest. Absent for none. */
  awaitedKeys?: AwaitedKeys;
  /** Claimed jobs, if some jobs take several slots. */
  claimed?: readonly Pick<JobRecord, 'name' | 'worker' | 'slots'>[];
}

/**
 * Returns the signs of a queue from its other figures.
 *
 * @param measured the pace over the last readings of a view that reads again and again
 */
export function signsOf(
  {
    queue,
    stats,
    limits,
    history,
    days,
    workers,
    silent = [],
    lostMembers,
    schedules,
    limitsSet,
    waitingGroups,
    sharedLimits,
    awaitedKeys,
    claimed,
  }: QueueFacts,
  measured?: RecentPace | null,
): QueueSigns {
  const { unserved, maintenanceOverdue, maintainedAt } = stats;
  const { at } = history;
  const sinceMaintenanceMs = maintainedAt ? at.getTime() - maintainedAt.getTime() : 0;
  const { maxRunning, restsUntil, rateLimit, nextStartAt, groups, configured } = limits;
  const usual = usualOf(history, days);
  const limitCosts = announcedCosts(workers);
  return {
    queue,
    stats,
    at,
    rates: ratesOf(history, usual.usualRunMs),
    hasEnded: hasEnded(history),
    ...(measured ? { pace: measured } : paceOf(history, stats)),
    diedLately: diedLately(history),
    deaths: deathsOf(history, workers, LATELY_MS),
    silent: silent.flatMap(({ id, seenAt, holds = 0 }) => (holds > 0 ? { id, seenAt, holds } : [])),
    lastHour: lastHourOf(history),
    ...usual,
    unserved: stats.workers > 0 ? unserved.filter(({ waitingMs }) => waitingMs > PATIENCE_MS) : [], // a worker may start
    restsUntil,
    rateLimit,
    nextStartAt,
    maxRunning,
    groupLimits: groups,
    limitsSet,
    ...(configured && { configured }),
    waitingGroups: waitingGroups?.map(({ name, pending }) => ({ name, pending })),
    ...(sharedLimits && { sharedLimits }),
    ...(awaitedKeys && { awaitedKeys }),
    ...(Object.keys(limitCosts).length > 0 && { limitCosts }),
    lostMembers,
    schedules,
    ...slotsOf(workers, claimed, stats),
    pausedWorkers: workers.filter(({ paused }) => paused).length,
    sinceMaintenanceMs: maintenanceOverdue ? Math.max(LONG_AGO_MS, sinceMaintenanceMs) : 0,
  };
}

/** Returns the slots of all workers together; unknown if one of them does not announce its own. */
function slotsOf(
  workers: readonly WorkerRecord[],
  claimed: QueueFacts['claimed'],
  { processing }: QueueStats,
): Pick<QueueSigns, 'slots' | 'usedSlots' | 'stuckSlots' | 'stuckJobs'> {
  if (workers.length === 0 || workers.some(({ slots }) => slots === undefined)) {
    return {};
  }
  const stuckJobs = sum(workers, ({ stuck = [] }) => stuck.length);
  const stuckSlots = sum(workers, (worker) => sum(worker.stuck ?? [], (job) => slotsOfJob(worker, job)));
  return {
    slots: sum(workers, ({ slots = 0 }) => slots),
    stuckSlots,
    ...(stuckSlots !== stuckJobs && { stuckJobs }),
    ...(claimed && { usedSlots: usedSlots(workers, claimed, processing) }),
  };
}

/** Returns the slots that claimed jobs take, and those that are too few for the lightest job of their worker. */
function usedSlots(
  workers: readonly WorkerRecord[],
  claimed: NonNullable<QueueFacts['claimed']>,
  processing: number,
): number {
  // A part of the jobs was read. The rest is taken to be like that part.
  const share = claimed.length > 0 ? Math.max(1, processing / claimed.length) : 0;
  const known = new Set(workers.map(({ id }) => id));
  const others = claimed.filter(({ worker = '' }) => !known.has(worker)).length;
  const used = sum(workers, (worker) => {
    const { id, slots = 0, weights } = worker;
    const own = claimed.filter((job) => job.worker === id);
    const taken = share * sum(own, (job) => slotsOfJob(worker, job));
    const lightest = weights ? Math.min(...weights.map(({ slots: each, most }) => (most ? 1 : each))) : 1;
    return slots - taken < lightest ? slots : taken;
  });
  return Math.round(used + share * others);
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

/** Returns whether any job ended in three minutes. A new queue has fewer, and its first burst is not slow. */
function hasEnded({ points, at }: HistoryReport): boolean {
  const sinceMs = at.getTime() - (RATE_STEPS + UNCLOSED_MINUTES) * MINUTE_MS;
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
    .filter((point) => at.getTime() - point.at.getTime() <= (most + UNCLOSED_MINUTES) * MINUTE_MS)
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

/** Returns how many jobs ended. */
export function outOf({
  completed,
  failed,
  cancelled,
}: {
  completed: number;
  failed: number;
  cancelled: number;
}): number {
  return completed + failed + cancelled;
}

// What is usual of a queue at this hour, and what is not: its wait, its run time, its arrivals. The same hour of the last days
// says it. A queue that is younger has the begin of its last hour.

/** The time between two reads of the last days, in ms. */
const USUAL_KEPT_MS = 600_000;
/** A figure jumps if its last minutes are this many times as high as usual. */
const JUMP_FACTOR = 3;
/** The minutes that a jump lasts, and the fewest minutes that say what is usual. */
const JUMP_MINUTES = 3;
const FEWEST_USUAL = 5;
/** The figures that jump, of a minute, and the least difference of a jump. Jobs may come in a burst of each day. */
const JUMPING_FIGURES = {
  run: { of: ({ run }: HistoryPoint) => run.p50 ?? [], least: 50, share: 0.5 },
  in: { of: ({ enqueued }: HistoryPoint) => enqueued / 60, least: 0.5, share: 0.9 },
};

const readsOfDays = new WeakMap<JobQueue, { atMs: number; days: Promise<HistoryReport> }>();

/** Returns this hour of the last days, read at most once in ten minutes. */
function readDays(queue: JobQueue): Promise<HistoryReport> {
  const atMs = performance.now();
  const known = readsOfDays.get(queue);
  if (known && atMs - known.atMs < USUAL_KEPT_MS) {
    return known.days;
  }
  const days = queue.history.sameHour();
  readsOfDays.set(queue, { atMs, days });
  days.catch(() => readsOfDays.delete(queue));
  return days;
}

/** Returns what is usual of a queue, and what has changed against it: the run time, or else the arrivals. */
function usualOf(
  hour: HistoryReport,
  days?: HistoryReport,
): Pick<QueueSigns, 'usualRunMs' | 'usualWaitMs' | 'change'> {
  const known = (days?.total?.run.count ?? 0) >= FEWEST_USUAL ? days : undefined;
  const { total } = known ?? hour;
  const slower = jumpOf('run', hour, known);
  const more = jumpOf('in', hour, known);
  return {
    usualRunMs: total?.run.p95 ?? undefined,
    usualWaitMs: total?.wait.p50 ?? undefined,
    change: slower && more ? { ...slower, alsoMore: true } : (slower ?? more),
  };
}

/** Returns the jump of a figure. The median of its last minutes is far above the usual. */
function jumpOf(
  of: RecentChange['of'],
  hour: HistoryReport,
  days: HistoryReport | undefined,
): RecentChange | undefined {
  const { of: figure, least, share } = JUMPING_FIGURES[of];
  const points = hour.points.filter((point) => typeof figure(point) === 'number');
  const values = points.flatMap(figure);
  const usual = days ? days.points.flatMap(figure) : values.slice(0, -JUMP_MINUTES).slice(0, 2 * FEWEST_USUAL);
  const before = quantile(usual, days ? share : 0.5);
  const now = quantile(values.slice(-JUMP_MINUTES), 0.5);
  if (
    usual.length < FEWEST_USUAL ||
    values.length < JUMP_MINUTES ||
    now < JUMP_FACTOR * before ||
    now - before < least
  ) {
    return undefined;
  }
  // Of a figure that is usually 0, each value is many times as high.
  const last = values.findLastIndex((value) => value < Math.max(Math.sqrt(JUMP_FACTOR) * before, least));
  return last > values.length - 2
    ? undefined
    : { of, before, now, ...(last >= 0 && { since: points[last + 1]!.at }) };
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;
}
