// Recurring jobs: a schedule has a next due time; a tick enqueues one job and sets the next.
import { isDeepStrictEqual } from 'node:util';
import type { Recurrence } from '#queue/model/schedule.js';
import { ask, holderOf, own } from './enqueue.js';
import { freshJob } from './job.js';
import { toBack } from './places.js';
import type { QueueModel } from './queue-model.js';

export interface ScheduleSettings {
  /** The rules support crons that fire at the start of a year in UTC. */
  recurrence: Recurrence;
  payload: unknown;
  overlap: boolean;
  onMissed: 'skip' | 'once';
  missedAfterMs: number;
  priority?: number;
}

export interface ModelSchedule extends ScheduleSettings {
  id: string;
  /** Undefined while it rests. */
  dueAt: number | undefined;
  isPaused: boolean;
  hasEnded: boolean;
  lastTickAt?: number;
  lastJobId?: string;
  ticks: number;
  skipped: number;
}

/** Returns the next whole multiple of the period since 1970, or the next new year, by the server's clock. */
function nextDue(model: QueueModel, { everyMs, startAt = 0, endAt = Infinity }: Recurrence): number {
  const after = Math.max(model.now - model.passed, Number(startAt) - 1);
  const next =
    everyMs === undefined
      ? Date.UTC(new Date(after).getUTCFullYear() + 1)
      : (Math.floor(after / everyMs) + 1) * everyMs;
  return next > Number(endAt) ? Infinity : next + model.passed;
}

function isUsedUp({ ticks, recurrence }: ModelSchedule): boolean {
  return ticks >= (recurrence.limit ?? Infinity);
}

/** Sets the next due time. A schedule without one has ended. */
function setNext(model: QueueModel, schedule: ModelSchedule): void {
  const next = nextDue(model, schedule.recurrence);
  schedule.hasEnded = next === Infinity || isUsedUp(schedule);
  schedule.dueAt = schedule.hasEnded ? undefined : next;
}

/** Stores a definition. An equal one changes nothing. A changed one keeps a due tick and a pause. */
export function upsert(
  model: QueueModel,
  id: string,
  settings: ScheduleSettings,
): 'created' | 'changed' | 'unchanged' {
  const known = model.schedules.get(id);
  if (!known) {
    const schedule = { ...settings, id, dueAt: undefined, isPaused: false, hasEnded: false, ticks: 0, skipped: 0 };
    model.schedules.set(id, schedule);
    setNext(model, schedule);
    return 'created';
  }
  if (isDeepStrictEqual({ ...known, ...settings }, known)) {
    return 'unchanged';
  }
  Object.assign(known, settings);
  if (!known.isPaused && (known.dueAt === undefined || known.dueAt > model.now)) {
    setNext(model, known);
  }
  return 'changed';
}

export function pauseSchedule(model: QueueModel, id: string): 'paused' | 'missing' {
  const schedule = model.schedules.get(id);
  if (!schedule) {
    return 'missing';
  }
  schedule.dueAt = undefined;
  schedule.isPaused = true;
  return 'paused';
}

/** Resumes a schedule, without the ticks that it missed. */
export function resumeSchedule(model: QueueModel, id: string): 'resumed' | 'missing' {
  const schedule = model.schedules.get(id);
  if (!schedule) {
    return 'missing';
  }
  if (schedule.isPaused) {
    schedule.isPaused = false;
    setNext(model, schedule);
  }
  return 'resumed';
}

export function removeSchedule(model: QueueModel, id: string): 'removed' | 'missing' {
  return model.schedules.delete(id) ? 'removed' : 'missing';
}

/** @param jobId the random id */
export function runNow(
  model: QueueModel,
  queue: string,
  id: string,
  jobId: string,
): { id: string; outcome: 'new' | 'kept' } | 'missing' {
  const schedule = model.schedules.get(id);
  return schedule ? enqueueJob(model, queue, schedule, jobId) : 'missing';
}

/** Enqueues a tick's job. A schedule without overlap enqueues nothing while its last job is unfinished. */
function enqueueJob(model: QueueModel, queue: string, schedule: ModelSchedule, jobId: string) {
  const unique = { key: `@schedule:${schedule.id}`, for: 'unfinished' } as const;
  const holder = schedule.overlap ? undefined : holderOf(model, unique.key);
  if (holder !== undefined) {
    return { id: holder, outcome: 'kept' as const };
  }
  const job = model.add(freshJob(jobId, queue, schedule.payload, model.now));
  job.schedule = schedule.id;
  ask(model, job, { priority: schedule.priority, ...(!schedule.overlap && { unique }) });
  if (!schedule.overlap) {
    own(model, jobId, unique);
  }
  toBack(model, job);
  job.readyAt = model.now;
  model.count('enqueued');
  return { id: jobId, outcome: 'new' as const };
}

/**
 * Makes one tick of all due times until now. A late tick is made once or left out. A due time not later than the
 * last tick makes none.
 */
export function tick(model: QueueModel, queue: string): { enqueued: number; skipped: number } {
  const due = [...model.schedules.values()]
    .filter((schedule) => schedule.dueAt !== undefined && schedule.dueAt <= model.now)
    .toSorted((a, b) => a.dueAt! - b.dueAt! || (a.id < b.id ? -1 : 1));
  const report = { enqueued: 0, skipped: 0 };
  for (const schedule of due) {
    const dueAt = schedule.dueAt!;
    if (dueAt > (schedule.lastTickAt ?? 0) && !isUsedUp(schedule)) {
      report[make(model, queue, schedule, dueAt)] += 1;
    }
    setNext(model, schedule);
  }
  return report;
}

function make(model: QueueModel, queue: string, schedule: ModelSchedule, dueAt: number): 'enqueued' | 'skipped' {
  let outcome: 'enqueued' | 'skipped' = 'skipped';
  if (schedule.onMissed === 'once' || model.now - dueAt <= schedule.missedAfterMs) {
    // The server does not know the time that the test let pass.
    const job = enqueueJob(model, queue, schedule, `@schedule:${schedule.id}:${dueAt - model.passed}`);
    schedule.lastTickAt = dueAt;
    schedule.lastJobId = job.id;
    outcome = job.outcome === 'kept' ? 'skipped' : 'enqueued';
  }
  schedule[outcome === 'enqueued' ? 'ticks' : 'skipped'] += 1;
  return outcome;
}
