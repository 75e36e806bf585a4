// The jobs that schedules enqueue; see lua/schedule/tick.lua and run.lua.
import type { AskedOptions } from '../../../queue/store/asked-options.js';
import type { DueSchedule, TickOutcome } from '../../../queue/store/verbs/schedule-verbs.js';
import { SCHEDULE_PREFIX } from '../../../queue/validation/names.js';
import type { Hash, MemoryQueue } from '../../state/memory-queue.js';
import { configureGroup } from '../configure-group.js';
import { holderOf, own, write } from '../enqueue.js';
import { writeOptions } from '../write-options.js';
import { jobIdOf } from './looks.js';
import { noteRun } from './runs.js';
import { setDue } from './schedules.js';

export function tick(queue: MemoryQueue, ticks: readonly (DueSchedule & { nextDueMs: number })[]): TickOutcome[] {
  return ticks.map(({ id, dueAtMs, version, nextDueMs }) => {
    const schedule = queue.schedules.get(id);
    const isCurrent = queue.scheduleDue.score(id) === dueAtMs && schedule?.version === version;
    if (isCurrent && dueAtMs > queue.now && nextDueMs > queue.now && nextDueMs < dueAtMs) {
      setDue(queue, id, schedule, nextDueMs);
      return 'moved';
    }
    if (!isCurrent || dueAtMs > queue.now || nextDueMs <= dueAtMs) {
      return 'lost';
    }
    queue.scheduleDue.set(id, nextDueMs);
    const outcome = make(queue, id, dueAtMs, schedule);
    if (outcome !== 'lost') {
      const counter = outcome === 'enqueued' ? 'ticks' : 'skipped';
      schedule[counter] = String(Number(schedule[counter] ?? 0) + 1);
    }
    setDue(queue, id, schedule, nextDueMs);
    return outcome;
  });
}

function make(queue: MemoryQueue, id: string, dueAtMs: number, schedule: Hash): TickOutcome {
  if (Number(schedule.ticks ?? 0) >= Number(schedule.tick_limit || Infinity)) {
    return 'lost';
  }
  const last = Number(schedule.last_tick_at_ms ?? -Infinity);
  if (dueAtMs <= last && last <= queue.now) {
    return 'lost';
  }
  const repeatsUntil = Math.max(last > queue.now ? last : 0, Number(schedule.repeats_until_ms ?? 0));
  if (schedule.on_missed === 'skip' && queue.now - dueAtMs > Number(schedule.missed_after_ms)) {
    noteRun(queue, schedule, { jobId: null, at: dueAtMs, status: 'missed', isByHand: false });
    return 'skipped';
  }
  const newId = jobIdOf(queue, id, dueAtMs, repeatsUntil);
  const { outcome, jobId } = addJob(queue, newId, id, schedule);
  if (dueAtMs <= repeatsUntil) {
    schedule.repeats_until_ms = String(repeatsUntil);
  }
  Object.assign(schedule, { last_tick_at_ms: String(dueAtMs), last_job: jobId });
  const isKept = outcome === 'kept';
  const noted = { jobId: isKept ? null : newId, status: isKept ? ('kept' as const) : ('pending' as const) };
  noteRun(queue, schedule, { ...noted, at: Number(newId.slice(newId.lastIndexOf(':') + 1)), isByHand: false });
  return isKept ? 'kept' : 'enqueued';
}

function addJob(queue: MemoryQueue, jobId: string, id: string, schedule: Hash) {
  if (queue.job(jobId)) {
    return { outcome: 'exists' as const, jobId, name: schedule.name! };
  }
  const options = JSON.parse(schedule.options!) as AskedOptions;
  const owner = options.unique === undefined ? undefined : holderOf(queue, options.unique.key);
  if (owner !== undefined) {
    return { outcome: 'kept' as const, jobId: owner, name: queue.job(owner)?.name ?? schedule.name! };
  }
  configureGroup(queue, options, true);
  const job = write(queue, jobId, schedule.name!, schedule.payload!);
  job.schedule = id;
  writeOptions(queue, job, options);
  own(queue, jobId, options);
  queue.toBack(jobId, job);
  queue.count('enqueued');
  queue.host.observer?.enqueued(queue, jobId, options);
  return { outcome: 'added' as const, jobId, name: schedule.name! };
}

export function run(queue: MemoryQueue, id: string, jobId: string) {
  const schedule = queue.schedules.get(id);
  if (!schedule) {
    return { outcome: 'missing' as const, jobId: '', name: '' };
  }
  const reply = addJob(queue, jobId, id, schedule);
  if (reply.outcome === 'added' && jobId.startsWith(`${SCHEDULE_PREFIX}${id}:`)) {
    noteRun(queue, schedule, { jobId, at: queue.now, status: 'pending', isByHand: true });
  }
  return reply;
}
