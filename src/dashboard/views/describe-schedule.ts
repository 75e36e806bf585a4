import { nextTimes } from '../../inspect/schedules/next-times.js';
import { recurrenceInWords } from '../../inspect/schedules/recurrence-in-words.js';
import { rulesInWords } from '../../inspect/schedules/rules-in-words.js';
import { lateSchedule } from '../../inspect/schedules/schedule-rules.js';
import type { ScheduleRecord } from '../../queue/model/schedule.js';
import type { EditedScheduleView, ScheduleView } from './schedules-view.js';

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
