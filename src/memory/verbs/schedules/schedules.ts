// Recurring jobs; see lua/schedule. Declarations by code are kept as lua/lib/schedule/rest.lua keeps them.
import type { Recurrence, ScheduleRecord } from '../../../queue/model/schedule.js';
import type { StoredSchedule } from '../../../queue/store/verbs/schedule-verbs.js';
import { DECLARED_MS } from '../../../queue/runtime/lifetimes.js';
import type {
  DueLook,
  DueSchedule,
  ResumeReply,
  UpsertOutcome,
} from '../../../queue/store/verbs/schedule-verbs.js';
import { scheduleRecord } from './record.js';
import { someOf } from './looks.js';
import type { Hash, MemoryQueue } from '../../state/memory-queue.js';

function isDeclared(queue: MemoryQueue, id: string): boolean {
  return (queue.scheduleOwners.get(id) ?? -Infinity) > queue.now - DECLARED_MS;
}

/**
 * Declares the declared schedules of a queue until `atMs`. Live workers repeat their declarations every ten seconds. A
 * jump of the clock skips these repeats, so the schedules would count as abandoned.
 */
export function keepDeclared(queue: MemoryQueue, atMs: number): void {
  if (queue.workers.size === 0) {
    return;
  }
  for (const id of [...queue.scheduleOwners.keys()].filter((each) => isDeclared(queue, each))) {
    queue.scheduleOwners.set(id, atMs);
  }
}

function isDeclaredByAnother(queue: MemoryQueue, schedule: Hash, worker: string): boolean {
  const endsInMs = Number(schedule.declared_until_ms ?? 0) - queue.now;
  return schedule.declared_by !== worker && endsInMs > 0 && endsInMs <= DECLARED_MS;
}

function endRest(queue: MemoryQueue, id: string, schedule: Hash): void {
  if (schedule.rested_due_ms !== undefined) {
    queue.scheduleDue.set(id, Number(schedule.rested_due_ms));
    delete schedule.rested_due_ms;
  }
}

/** Sets the next due time, as set_due of lua/lib/schedule/rest.lua. */
export function setDue(queue: MemoryQueue, id: string, schedule: Hash, dueMs: number): void {
  const isUsedUp = Number(schedule.ticks ?? 0) >= Number(schedule.tick_limit || Infinity);
  if (!isUsedUp && dueMs !== Infinity) {
    delete schedule.ended_at_ms;
    queue.scheduleDue.set(id, dueMs);
    return;
  }
  schedule.ended_at_ms ??= String(queue.now);
  queue.scheduleDue.set(id, Infinity);
  if (schedule.source !== 'code') {
    queue.scheduleOwners.set(id, queue.now);
  }
}

function takeOver(queue: MemoryQueue, id: string, schedule: Hash, worker: string | undefined): void {
  schedule.source = worker === undefined ? 'call' : 'code';
  if (worker === undefined) {
    queue.scheduleOwners.delete(id);
    delete schedule.declared_by;
    delete schedule.declared_until_ms;
  } else {
    queue.scheduleOwners.set(id, queue.now);
    Object.assign(schedule, { declared_by: worker, declared_until_ms: String(queue.now + DECLARED_MS) });
  }
  endRest(queue, id, schedule);
}

export function upsert(
  queue: MemoryQueue,
  { id, version, recurrence, name, payload, options, onMissed, missedAfterMs }: StoredSchedule,
  worker: string | undefined,
  { nextDueMs, knownAt }: { nextDueMs: number | undefined; knownAt: Date | null | undefined },
): { outcome: UpsertOutcome; nowMs: number } {
  const { now } = queue;
  const known = queue.schedules.get(id);
  if (known && worker === undefined && known.source === 'code' && isDeclared(queue, id)) {
    return { outcome: 'declared', nowMs: now };
  }
  if (known?.version === version) {
    takeOver(queue, id, known, worker);
    if (known.ended_at_ms !== undefined) {
      setDue(queue, id, known, Infinity);
    }
    return { outcome: 'unchanged', nowMs: now };
  }
  const expected = knownAt === null ? undefined : String(knownAt?.getTime());
  if (knownAt !== undefined && expected !== known?.updated_at_ms) {
    return { outcome: 'stale', nowMs: now };
  }
  if (known && worker !== undefined && known.source === 'code' && isDeclaredByAnother(queue, known, worker)) {
    queue.scheduleOwners.set(id, now);
    endRest(queue, id, known);
    return { outcome: 'conflict', nowMs: now };
  }
  if (nextDueMs === undefined) {
    return { outcome: 'next', nowMs: now };
  }
  const schedule = known ?? { created_at_ms: String(now) };
  Object.assign(schedule, {
    version,
    recurrence: JSON.stringify(recurrence),
    name,
    payload,
    options: JSON.stringify(options),
    on_missed: onMissed,
    missed_after_ms: String(missedAfterMs),
    tick_limit: String(recurrence.limit ?? ''),
    updated_at_ms: String(now),
  });
  queue.schedules.set(id, schedule);
  takeOver(queue, id, schedule, worker);
  const dueAt = queue.scheduleDue.score(id) ?? Infinity;
  if (!known || (schedule.paused_at_ms === undefined && dueAt > now)) {
    setDue(queue, id, schedule, nextDueMs);
  }
  return { outcome: known ? 'changed' : 'created', nowMs: now };
}

export function declare(
  queue: MemoryQueue,
  worker: string,
  declares: boolean,
  schedules: readonly Pick<StoredSchedule, 'id' | 'version'>[],
): ('declared' | 'conflict' | 'upsert')[] {
  return schedules.map(({ id, version }) => {
    const schedule = queue.schedules.get(id);
    if (!declares) {
      if (schedule?.declared_by === worker) {
        schedule.declared_until_ms = '0';
      }
      return 'declared';
    }
    if (
      schedule?.source !== 'code' ||
      (schedule.version !== version && !isDeclaredByAnother(queue, schedule, worker))
    ) {
      return 'upsert';
    }
    queue.scheduleOwners.set(id, queue.now);
    endRest(queue, id, schedule);
    if (schedule.version !== version) {
      return 'conflict';
    }
    Object.assign(schedule, { declared_by: worker, declared_until_ms: String(queue.now + DECLARED_MS) });
    return 'declared';
  });
}

export function due(queue: MemoryQueue, limit: number, othersFrom?: number): DueLook {
  const { now } = queue;
  const ids = queue.scheduleDue.upTo(now).slice(0, limit);
  const found: DueSchedule[] = [];
  for (const id of ids) {
    const schedule = queue.schedules.get(id)!;
    const dueAtMs = queue.scheduleDue.score(id)!;
    if (schedule.source === 'code' && !isDeclared(queue, id)) {
      schedule.rested_due_ms = String(dueAtMs);
      queue.scheduleDue.set(id, Infinity);
    } else {
      found.push({ id, dueAtMs, version: schedule.version!, recurrence: schedule.recurrence! });
    }
  }
  const others = queue.scheduleDue.members().filter((id) => queue.scheduleDue.score(id)! > now);
  found.push(...(othersFrom === undefined ? [] : someOf(queue, others, othersFrom)));
  const [following] = others;
  const nextAt = following === undefined ? Infinity : queue.scheduleDue.score(following)!;
  const nextDueInMs = nextAt === Infinity ? undefined : nextAt - now;
  return { nowMs: now, nextDueInMs, more: ids.length === limit, due: found };
}

export function pause(queue: MemoryQueue, id: string): 'paused' | 'missing' {
  const schedule = queue.schedules.get(id);
  if (schedule) {
    schedule.paused_at_ms ??= String(queue.now);
    delete schedule.rested_due_ms;
    queue.scheduleDue.set(id, Infinity);
  }
  return schedule ? 'paused' : 'missing';
}

export function resume(queue: MemoryQueue, id: string, next?: { dueMs: number; version: string }): ResumeReply {
  const schedule = queue.schedules.get(id);
  if (!schedule) {
    return { outcome: 'missing' };
  }
  if (schedule.paused_at_ms === undefined) {
    return { outcome: 'resumed' };
  }
  if (next?.version !== schedule.version) {
    const recurrence = JSON.parse(schedule.recurrence!) as Recurrence;
    return { outcome: 'next', nowMs: queue.now, version: schedule.version!, recurrence };
  }
  delete schedule.paused_at_ms;
  setDue(queue, id, schedule, next!.dueMs);
  return { outcome: 'resumed' };
}

export function remove(queue: MemoryQueue, id: string): 'removed' | 'missing' | 'declared' {
  if (queue.schedules.get(id)?.source === 'code' && isDeclared(queue, id)) {
    return 'declared';
  }
  queue.scheduleDue.delete(id);
  queue.scheduleOwners.delete(id);
  return queue.schedules.delete(id) ? 'removed' : 'missing';
}

export function list(queue: MemoryQueue, offset: number, limit: number): ScheduleRecord[] {
  return queue.scheduleDue
    .members()
    .slice(offset, offset + limit)
    .flatMap((id) => get(queue, id));
}

export function get(queue: MemoryQueue, id: string): ScheduleRecord[] {
  const schedule = queue.schedules.get(id);
  if (!schedule) {
    return [];
  }
  return [scheduleRecord(queue, id, schedule, isDeclared(queue, id))];
}
