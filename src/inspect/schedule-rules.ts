// Rules for schedules: one whose runs nobody makes, and one whose run does not end. Their next times follow.
import type { ScheduleRecord, ScheduleRun, Recurrence } from '../queue/model/schedule.js';
import { nextDue } from '../queue/schedules/recurrence.js';
import type { QueueSigns } from './queue-signs.js';
import type { Finding, Rule } from './rule.js';
import { count, duration } from './words.js';

/** A deploy is shorter than this, in ms. */
const DEPLOY_MS = 60_000;
/** The most missed runs that are counted. */
const MOST_MISSED = 100;
/** Skipped ticks in a row, and the multiple of the usual run time, from which a run is called hanging. */
const MANY_SKIPS = 3;
const MANY_TIMES = 10;
/** A run is never called hanging before this, in ms. */
const SHORTEST_HANG_MS = 60_000;

/** The signs that these rules read. */
type ScheduleSigns = Pick<QueueSigns, 'schedules' | 'at' | 'usualRunMs'>;

/** Finds a schedule whose runs nobody makes, or whose run does not end. */
export function lateSchedule(signs: ScheduleSigns): ReturnType<Rule> {
  return unrunSchedule(signs) ?? hangingSchedule(signs);
}

/** Finds the schedule that is late for longest: for longer than its period, and than a deploy. */
export function unrunSchedule({ schedules = [], at = new Date() }: ScheduleSigns): ReturnType<Rule> {
  const late = schedules
    .flatMap((schedule) => unrunFor(schedule, at.getTime()) ?? [])
    .toSorted((a, b) => b.lateMs - a.lateMs);
  const [first, ...others] = late;
  if (!first) {
    return undefined;
  }
  const { schedule, lateMs, missed } = first;
  const name = `\`${schedule.id}\``;
  const runs =
    missed >= MOST_MISSED ? `over ${count(MOST_MISSED)} runs` : missed === 1 ? '1 run' : `${count(missed)} runs`;
  const more =
    others.length > 0 ? `, and ${count(others.length)} more ${others.length === 1 ? 'schedule' : 'schedules'}` : '';
  const isUndeclared = schedule.source === 'code' && !schedule.isDeclared;
  return {
    severity: 'warning',
    state: 'late',
    summary: `late: schedule ${name} should have run ${duration(lateMs)} ago, ${runs} missed${more}`,
    cause: isUndeclared
      ? `no running process has the code of ${name}`
      : 'no process makes the runs of its schedules',
    next: isUndeclared
      ? `start a process with its code; if that is gone for good, remove the schedule`
      : 'start a process whose maintenance is on',
    remedy: { at: 'schedules' },
  };
}

/** Returns how long a schedule has been without a run, and how many it missed. Undefined if that is no sign of anything. */
function unrunFor(
  schedule: ScheduleRecord,
  nowMs: number,
): { schedule: ScheduleRecord; lateMs: number; missed: number } | undefined {
  const since = schedule.overdueSince?.getTime();
  if (since === undefined || nowMs - since <= DEPLOY_MS) {
    return undefined;
  }
  const times = followingTimes(schedule, since);
  const missed = 1 + times.filter((each) => each <= nowMs).length;
  const lateMs = nowMs - since;
  return missed > 1 || times.length === 0 ? { schedule, lateMs, missed } : undefined;
}

/** Returns the next due times after one, at most as many as are counted. */
function followingTimes(schedule: ScheduleRecord, afterMs: number): number[] {
  try {
    return timesAfter(recurrenceOf(schedule), afterMs, schedule, MOST_MISSED - 1);
  } catch {
    return []; // this process does not know the time zone
  }
}

/** Finds a schedule whose run does not end, so that its next ones are skipped. */
export function hangingSchedule(signs: ScheduleSigns): ReturnType<Rule> {
  for (const schedule of signs.schedules ?? []) {
    const found = hangingRun(schedule, signs);
    if (found) {
      return found;
    }
  }
  return undefined;
}

function hangingRun(
  { id, status, runs }: ScheduleRecord,
  { at = new Date(), usualRunMs }: ScheduleSigns,
): Finding | undefined {
  const open = runs.find((run) => isOpen(run.status));
  const skips = runs.findIndex((run) => run.status !== 'kept');
  const forMs = open ? at.getTime() - open.at.getTime() : 0;
  const isLong =
    open?.status === 'processing' &&
    usualRunMs !== undefined &&
    forMs > Math.max(SHORTEST_HANG_MS, usualRunMs * MANY_TIMES);
  if (status !== 'active' || !open || !(isLong || skips >= MANY_SKIPS)) {
    return undefined;
  }
  const state = open.status === 'processing' ? 'runs' : 'waits';
  const skipped = skips > 0 ? `, ${count(skips)} ${skips === 1 ? 'run' : 'runs'} skipped since` : '';
  const usual = isLong ? `, usually ${duration(usualRunMs)}` : '';
  return {
    severity: 'warning',
    state: 'late',
    summary: `late: a run of schedule \`${id}\` ${state} for ${duration(forMs)}${usual}${skipped}`,
    cause: open.status === 'processing' ? 'its handler does not end' : 'its last job has not started',
    next: 'look at the job; end or cancel it, and give its handler a timeout',
    remedy: open.jobId === null ? { at: 'schedules' } : { at: 'job', id: open.jobId },
  };
}

function isOpen(status: ScheduleRun['status']): boolean {
  return status === 'processing' || status === 'pending' || status === 'scheduled';
}

/** The number of next times that every window shows. */
const SHOWN_TIMES = 3;

/** Returns the next times of an active schedule, in epoch ms; none of one that rests or has ended. */
export function nextTimes(schedule: ScheduleRecord): number[] {
  const { status, nextAt } = schedule;
  if (status !== 'active' || nextAt === null) {
    return [];
  }
  const first = nextAt.getTime();
  const most = isSound(schedule) ? leftOf(schedule) - 1 : 0;
  try {
    return [first, ...timesAfter(recurrenceOf(schedule), first, schedule, most)];
  } catch {
    return [first]; // this process does not know the time zone
  }
}

/** Returns how many times to show: no more than the limit leaves. */
function leftOf({ limit = Infinity, ticks = 0 }: { limit?: number; ticks?: number | undefined }): number {
  return Math.min(SHOWN_TIMES, limit - ticks);
}

/** Returns whether its figures can have next times. Any client can write the hash of a schedule. */
function isSound({ everyMs = 1, jitterMs = 0 }: ScheduleRecord): boolean {
  return [everyMs, jitterMs].every((ms) => Number.isSafeInteger(ms) && ms >= 0);
}

/**
 * Returns the times of a recurrence after an instant, in epoch ms.
 *
 * @param schedule its queue and id, which determine the delay by jitter; and how many jobs it has made
 * @throws Error if this process does not know the time zone
 */
export function timesAfter(
  recurrence: Recurrence,
  afterMs: number,
  schedule: { queue: string; id: string; ticks?: number | undefined },
  most = leftOf({ limit: recurrence.limit ?? Infinity, ticks: schedule.ticks }),
): number[] {
  const times: number[] = [];
  for (let at = afterMs; times.length < most;) {
    at = nextDue(recurrence, at, schedule);
    if (at === Infinity) {
      break;
    }
    times.push(at);
  }
  return times;
}

/** Returns the recurrence of a schedule as a call takes it. */
function recurrenceOf(schedule: ScheduleRecord): Recurrence {
  const { cron, timeZone, everyMs, startAt, endAt, limit, jitterMs } = schedule;
  const times = cron === undefined ? { everyMs: everyMs! } : { cron, ...(timeZone && { timeZone }) };
  return {
    ...times,
    ...(startAt && { startAt: startAt.getTime() }),
    ...(endAt && { endAt: endAt.getTime() }),
    ...(limit !== undefined && { limit }),
    ...(jitterMs !== undefined && { jitterMs }),
  };
}
