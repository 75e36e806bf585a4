// The record of a schedule, as callers see it.
import { parseJson } from '../../../queue/codec/parse-json.js';
import { jobOptionsAt } from '../../../queue/model/job-options.js';
import type { Recurrence, ScheduleRecord } from '../../../queue/model/schedule.js';
import type { AskedOptions } from '../../../queue/store/asked-options.js';
import { SCHEDULE_PREFIX } from '../../../queue/validation/names.js';
import type { Hash, MemoryQueue } from '../../state/memory-queue.js';
import { runsNow } from './runs.js';

/** Returns the record of a schedule. */
export function scheduleRecord(
  queue: MemoryQueue,
  id: string,
  schedule: Hash,
  wasDeclared: boolean,
): ScheduleRecord {
  const { startAt, endAt, ...recurrence } = JSON.parse(schedule.recurrence!) as Recurrence;
  const dueAt = queue.scheduleDue.score(id) ?? Infinity;
  const source = schedule.source === 'code' ? 'code' : 'call';
  const isDeclared = source === 'code' && wasDeclared;
  return {
    id,
    queue: queue.name,
    name: schedule.name!,
    payload: parseJson(schedule.payload).value,
    ...recurrence,
    startAt: dateOf(startAt),
    endAt: dateOf(endAt),
    onMissed: schedule.on_missed === 'once' ? 'once' : 'skip',
    missedAfterMs: Number(schedule.missed_after_ms),
    ...jobOptions(id, JSON.parse(schedule.options!) as AskedOptions),
    status: statusOf(schedule, source === 'call' || isDeclared),
    source,
    isDeclared,
    nextAt: dueAt === Infinity ? null : new Date(dueAt),
    pausedAt: dateOf(schedule.paused_at_ms),
    endedAt: dateOf(schedule.ended_at_ms),
    lastTickAt: dateOf(schedule.last_tick_at_ms),
    lastJobId: schedule.last_job ?? null,
    ticks: Number(schedule.ticks ?? 0),
    skipped: Number(schedule.skipped ?? 0),
    runs: runsNow(queue, schedule),
    createdAt: new Date(Number(schedule.created_at_ms)),
    updatedAt: new Date(Number(schedule.updated_at_ms)),
  };
}

function jobOptions(id: string, asked: AskedOptions): Pick<ScheduleRecord, 'options' | 'overlap'> {
  const names: readonly string[] = jobOptionsAt('schedule');
  const options = Object.fromEntries(Object.entries(asked).filter(([name]) => names.includes(name)));
  return { options, overlap: asked.unique?.key !== `${SCHEDULE_PREFIX}${id}` };
}

function statusOf(schedule: Hash, isKept: boolean): ScheduleRecord['status'] {
  if (schedule.paused_at_ms !== undefined) {
    return 'paused';
  }
  if (!isKept) {
    return 'undeclared';
  }
  return schedule.ended_at_ms === undefined ? 'active' : 'ended';
}

function dateOf(at: Date | number | string | undefined): Date | null {
  return at === undefined ? null : new Date(Number(at));
}
