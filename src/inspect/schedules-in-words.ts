// Schedules in words: their times, their other rules, and how their runs ended.
import type { ScheduleRecord, ScheduleRun } from '../queue/model/schedule.js';
import { onClock } from './clock.js';
import { capitalised, count, duration } from './words.js';

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
const UNITS: readonly [number, string][] = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1_000, 'second'],
  [1, 'ms'],
];

const ALIASES: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
};

/** Returns the times of a schedule in words, without its time zone. */
export function recurrenceInWords({ cron, everyMs }: Pick<ScheduleRecord, 'cron' | 'everyMs'>): string {
  return cron === undefined ? everyInWords(everyMs ?? 0) : cronInWords(cron);
}

/** Returns an interval in words: every 5 minutes. */
function everyInWords(ms: number): string {
  const [size, unit] = UNITS.find(([each]) => ms >= each && ms % each === 0) ?? [1, 'ms'];
  const n = ms / size;
  return n === 1 ? `Every ${unit}` : `Every ${n.toLocaleString('en')} ${unit}${unit === 'ms' ? '' : 's'}`;
}

/** Returns the common forms of a cron expression in words, others unchanged. */
function cronInWords(cron: string): string {
  const fields = (ALIASES[cron.trim().toLowerCase()] ?? cron.trim()).split(/\s+/);
  const [second, minute, hour, day, month, weekday] = fields.length === 6 ? fields : ['0', ...fields];
  const when = dayInWords(day, month, weekday);
  const time = timeInWords(second, minute, hour);
  if (when === undefined || time === undefined) {
    return `By the cron expression ${cron}`;
  }
  const every = time.startsWith('Every');
  return every ? `${time}${when === 'every day' ? '' : `, ${when}`}` : `${capitalised(when)} ${time}`;
}

function step(field: string, unit: string): string | undefined {
  const [, n] = /^\*\/(\d+)$/.exec(field) ?? [];
  return n ? `Every ${n} ${unit}s` : field === '*' ? `Every ${unit}` : undefined;
}

function timeInWords(second = '0', minute = '*', hour = '*'): string | undefined {
  if (minute === '*' && hour === '*' && second !== '0') {
    return step(second, 'second');
  }
  if (second !== '0') {
    return undefined;
  }
  if (hour === '*') {
    return step(minute, 'minute') ?? (/^\d+$/.test(minute) ? `Every hour at minute ${minute}` : undefined);
  }
  const [, first, last] = /^(\d+)-(\d+)$/.exec(hour) ?? [];
  if (first && last) {
    return betweenInWords(minute, first, last);
  }
  if (!/^\d+$/.test(minute)) {
    return undefined;
  }
  const hours = step(hour, 'hour');
  if (hours) {
    return minute === '0' ? hours : `${hours} at minute ${minute}`;
  }
  const list = hour.split(',');
  const clocks = list.map((h) => atClock(h, minute));
  return list.every((h) => /^\d+$/.test(h)) ? `at ${joined(clocks)}` : undefined;
}

/** Returns the times of some hours of a day: every 30 minutes from 08:00 to 18:59. */
function betweenInWords(minute: string, first: string, last: string): string | undefined {
  if (/^\d+$/.test(minute)) {
    return `Every hour from ${atClock(first, minute)} to ${atClock(last, minute)}`;
  }
  const each = step(minute, 'minute');
  return each && `${each} from ${atClock(first, '0')} to ${atClock(last, '59')}`;
}

function atClock(hour: string, minute: string): string {
  return `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`;
}

function dayInWords(day = '*', month = '*', weekday = '*'): string | undefined {
  if (month !== '*') {
    return undefined;
  }
  if (day === '*' && weekday === '*') {
    return 'every day';
  }
  if (day === '*') {
    return weekdayInWords(weekday);
  }
  return weekday === '*' && /^\d+$/.test(day) ? `on day ${day} of every month` : undefined;
}

function weekdayInWords(weekday: string): string | undefined {
  if (/^(1-5|mon-fri)$/i.test(weekday)) {
    return 'Monday to Friday';
  }
  const days = weekday.split(',').map((each) => nameOf(each));
  return days.every((each) => each !== undefined) ? `every ${joined(days)}` : undefined;
}

function nameOf(weekday: string): string | undefined {
  return /^\d$/.test(weekday)
    ? DAYS[Number(weekday)]
    : DAYS.find((each) => each.slice(0, 3).toLowerCase() === weekday.toLowerCase());
}

function joined(words: readonly (string | undefined)[]): string {
  return words.length > 1 ? `${words.slice(0, -1).join(', ')} and ${words.at(-1)}` : (words[0] ?? '');
}

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

const WORDS: Readonly<Record<ScheduleRun['status'], string>> = {
  pending: 'its job waits',
  scheduled: 'its job waits for its next attempt',
  processing: 'its job runs',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
  missed: 'missed, without a job',
  kept: 'skipped, because the last job had not ended',
  gone: 'its record is gone',
};

/** Returns how a run of a schedule ended, in words. */
export function runInWords({ status, isByHand }: Pick<ScheduleRun, 'status' | 'isByHand'>): string {
  return `${WORDS[status]}${isByHand ? ', by hand' : ''}`;
}
