import type { ScheduleRecord } from '../../queue/model/schedule.js';
import { recurrenceInWords } from '../../inspect/schedules/recurrence-in-words.js';
import type { ScheduleView } from './views.js';

/** Converts a schedule for the page. */
export function describeSchedule(record: ScheduleRecord): ScheduleView {
  const { id, queue, name, status, source, ticks, skipped, lastJobId, onMissed, cron, everyMs } = record;
  return {
    id,
    queue,
    name,
    words: recurrenceInWords(record),
    recurrence: cron ?? `every ${everyMs} ms`,
    timeZone: record.timeZone ?? null,
    status,
    source,
    nextAt: record.nextAt?.getTime() ?? null,
    lastTickAt: record.lastTickAt?.getTime() ?? null,
    lastJobId,
    ticks,
    skipped,
    overlap: onMissed === 'once' ? 'a missed tick is made up once' : 'missed ticks are skipped',
  };
}
