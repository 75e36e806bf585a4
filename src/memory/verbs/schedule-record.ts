// The record of a schedule, as callers see it.
import { parseJson } from '../../queue/codec/parse-json.js';
import type { Recurrence, ScheduleRecord } from '../../queue/model/schedule.js';
import type { Hash } from '../state/memory-queue.js';

/** Returns the record of a schedule. @param dueAt its next due time; Infinity while it rests */
export function scheduleRecord(
  queue: string,
  id: string,
  schedule: Hash,
  isDeclared: boolean,
  dueAt = Infinity,
): ScheduleRecord {
  const { startAt, endAt, ...recurrence } = JSON.parse(schedule.recurrence!) as Recurrence;
  const source = schedule.source === 'code' ? 'code' : 'call';
  return {
    id,
    queue,
    name: schedule.name!,
    payload: parseJson(schedule.payload).value,
    ...recurrence,
    startAt: dateOf(startAt),
    endAt: dateOf(endAt),
    onMissed: schedule.on_missed === 'once' ? 'once' : 'skip',
    missedAfterMs: Number(schedule.missed_after_ms),
    status: statusOf(schedule, source === 'call' || isDeclared),
    source,
    nextAt: dueAt === Infinity ? null : new Date(dueAt),
    pausedAt: dateOf(schedule.paused_at_ms),
    endedAt: dateOf(schedule.ended_at_ms),
    lastTickAt: dateOf(schedule.last_tick_at_ms),
    lastJobId: schedule.last_job ?? null,
    ticks: Number(schedule.ticks ?? 0),
    skipped: Number(schedule.skipped ?? 0),
    createdAt: new Date(Number(schedule.created_at_ms)),
    updatedAt: new Date(Number(schedule.updated_at_ms)),
  };
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
