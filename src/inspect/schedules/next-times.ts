import type { Recurrence, ScheduleRecord } from '../../queue/model/schedule.js';
import { nextDue } from '../../queue/schedules/recurrence.js';

/** The number of next times that every window shows. */
const SHOWN = 3;

/** Returns the next times of an active schedule, in epoch ms; none of one that rests or has ended. */
export function nextTimes(schedule: ScheduleRecord): number[] {
  const { status, nextAt } = schedule;
  if (status !== 'active' || nextAt === null) {
    return [];
  }
  const first = nextAt.getTime();
  const count = isSound(schedule) ? leftOf(schedule) - 1 : 0;
  try {
    return [first, ...timesAfter(recurrenceOf(schedule), first, schedule, count)];
  } catch {
    return [first]; // this process does not know the time zone
  }
}

/** Returns how many times to show: no more than the limit leaves. */
function leftOf({ limit = Infinity, ticks = 0 }: { limit?: number; ticks?: number | undefined }): number {
  return Math.min(SHOWN, limit - ticks);
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
  count = leftOf({ limit: recurrence.limit ?? Infinity, ticks: schedule.ticks }),
): number[] {
  const times: number[] = [];
  for (let at = afterMs; times.length < count;) {
    at = nextDue(recurrence, at, schedule);
    if (at === Infinity) {
      break;
    }
    times.push(at);
  }
  return times;
}

/** Returns the recurrence of a schedule as a call takes it. */
export function recurrenceOf(schedule: ScheduleRecord): Recurrence {
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
