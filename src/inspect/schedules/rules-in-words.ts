import type { ScheduleRecord } from '../../queue/model/schedule.js';
import { count, duration } from '../words.js';
import { onClock } from './clock.js';

/** Returns what a schedule keeps to beside its times, in words. */
export function rulesInWords(schedule: ScheduleRecord): string[] {
  const { timeZone = 'UTC', startAt, endAt, limit, jitterMs, ticks, overlap, onMissed } = schedule;
  const clock = (at: Date) => onClock(at.getTime(), timeZone);
  const said: (string | false)[] = [
    startAt !== null && ticks === 0 && `from ${clock(startAt)}`,
    endAt !== null && `until ${clock(endAt)}`,
    limit !== undefined && `${count(ticks)} of ${count(limit)} jobs`,
    jitterMs !== undefined && `up to ${duration(jitterMs)} of jitter`,
    !overlap && 'one job at a time',
    onMissed === 'once' && 'makes up for missed times',
  ];
  return said.filter((each) => each !== false);
}
