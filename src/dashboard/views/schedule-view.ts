import { nextTimes, lateSchedule } from '../../inspect/schedule-rules.js';
import { recurrenceInWords, rulesInWords } from '../../inspect/schedules-in-words.js';
import type { ScheduleRun, ScheduleRecord } from '../../queue/model/schedule.js';
import type { QueueVerdictView } from './views.js';

/** A run of a schedule, newest first. */
export interface ScheduleRunView {
  /** The id of its job; null for a tick that enqueued none. */
  jobId: string | null;
  at: number;
  status: ScheduleRun['status'];
  isByHand: boolean;
}

/** A recurring job as a row. */
export interface ScheduleView {
  id: string;
  queue: string;
  name: string;
  /** Its times in words, without the time zone. */
  words: string;
  recurrence: string;
  /** The time zone of its clock: UTC for an interval. */
  timeZone: string;
  /** What else it keeps to: jitter, limit, bounds, overlap. */
  rules: string[];
  status: 'active' | 'paused' | 'undeclared' | 'ended';
  /** That nobody makes its runs, or that one does not end, with the cause; null for neither. */
  late: string | null;
  /** When it was paused, or when it ended. */
  since: number | null;
  source: 'code' | 'call';
  /** True while a running process declares it: then it is changed in the code. */
  isDeclared: boolean;
  /** The next three times; none while it rests. */
  next: number[];
  ticks: number;
  skipped: number;
  runs: ScheduleRunView[];
}

/** The recurring jobs of all queues that could be read. */
export interface SchedulesView {
  schedules: ScheduleView[];
  unreadable: QueueVerdictView[];
}

/** A schedule as the form shows it. */
export interface EditedScheduleView {
  id: string;
  queue: string;
  name: string;
  cron: string | null;
  timeZone: string | null;
  everyMs: number | null;
  startAt: number | null;
  endAt: number | null;
  limit: number | null;
  jitterMs: number | null;
  onMissed: 'skip' | 'once';
  overlap: boolean;
  priority: number | null;
  maxAttempts: number | null;
  /** Its payload as JSON; null if it cannot be edited here, for `payloadRefusal`. */
  payload: string | null;
  payloadRefusal: string | null;
  /** Why the schedule cannot be edited; null if it can. */
  refusal: string | null;
  /** The time of its last change. An edit names it, so that it undoes no other. */
  updatedAt: number;
}

/** The times of a schedule that is not stored yet. */
export interface PreviewView {
  words: string;
  /** The time zone of its clock: UTC for an interval. */
  timeZone: string;
  /** The time of the server. */
  at: number;
  next: number[];
}

/** Converts a schedule for a row of the page. @param nowMs the time of Redis */
export function describeSchedule(record: ScheduleRecord, nowMs: number): ScheduleView {
  const { id, queue, name, status, source, isDeclared, ticks, skipped, cron, everyMs, pausedAt, endedAt } = record;
  return {
    id,
    queue,
    name,
    words: recurrenceInWords(record),
    recurrence: cron ?? `every ${everyMs} ms`,
    timeZone: record.timeZone ?? 'UTC',
    rules: rulesInWords(record),
    status,
    late: lateWords(record, nowMs),
    since: timeOf(pausedAt ?? endedAt),
    source,
    isDeclared,
    next: nextTimes(record),
    ticks,
    skipped,
    runs: record.runs.map(({ at, ...run }) => ({ ...run, at: at.getTime() })),
  };
}

function lateWords(record: ScheduleRecord, nowMs: number): string | null {
  const late = lateSchedule({ schedules: [record], at: new Date(nowMs) });
  return late ? `${late.summary.replace(/^late: (schedule `.*?` )?/, '')}: ${late.cause}` : null;
}

/** Converts a schedule for the form. */
export function editedSchedule(
  record: ScheduleRecord,
  refusals: Pick<EditedScheduleView, 'refusal' | 'payloadRefusal'>,
): EditedScheduleView {
  const { id, queue, name, onMissed, overlap, updatedAt } = record;
  const { cron = null, timeZone = null, everyMs = null, limit = null, jitterMs = null } = record;
  const { priority = null, maxAttempts = null } = record.options;
  return {
    id,
    queue,
    name,
    cron,
    timeZone,
    everyMs,
    limit,
    jitterMs,
    onMissed,
    overlap,
    priority,
    maxAttempts,
    startAt: timeOf(record.startAt),
    endAt: timeOf(record.endAt),
    payload: refusals.payloadRefusal === null ? JSON.stringify(record.payload ?? null, null, 2) : null,
    ...refusals,
    updatedAt: updatedAt.getTime(),
  };
}

function timeOf(at: Date | null): number | null {
  return at?.getTime() ?? null;
}
