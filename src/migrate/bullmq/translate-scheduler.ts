// What a scheduler of BullMQ, or a repeatable job of Bull, becomes here, or why it stays there.
import type { JobQueue } from '../../queue/job-queue.js';
import type { Recurrence } from '../../queue/model/schedule.js';
import { encodeSchedule, type ScheduleOptions } from '../../queue/schedules/schedule.js';
import { nextTick } from '../../queue/schedules/recurrence.js';
import { nameOf, priorityOf, type MoveRules } from '../move-rules.js';
import type { Refusal } from './translate-job.js';
import { backoffOf, readOptions, type OldOptions } from './old-options.js';
import type { OldScheduler } from './source.js';

/** A scheduler with what makes its jobs, which Bull keeps in its next job. */
export interface ReadScheduler extends OldScheduler {
  /** Its id here. */
  newId: string;
  name: string;
  /** JSON; undefined for none. */
  data: string | undefined;
  /** JSON of the options of its jobs. */
  opts: string | undefined;
  rule: { pattern?: string; every?: number; tz?: string; startDate?: number; endDate?: number; left?: number };
}

/** A schedule as it is created here. */
export interface NewSchedule {
  id: string;
  recurrence: Recurrence;
  options: ScheduleOptions;
}

/** What a scheduler becomes. */
interface TranslatedScheduler {
  /** Undefined if its last job is made: it only ends. */
  schedule: NewSchedule | undefined;
}

/**
 * Returns what a scheduler becomes. Its next time must be one here too. The job of that time is there already, and
 * moves like the other jobs. So the schedule begins after it.
 */
export function translateScheduler(
  old: ReadScheduler,
  queue: JobQueue,
  rules: MoveRules,
): TranslatedScheduler | Refusal {
  const { newId: id, nextMs, rule } = old;
  if (rule.pattern === undefined && rule.every === undefined) {
    return { reason: 'its rule cannot be read' };
  }
  try {
    const left = rule.left;
    if ((left !== undefined && left <= 0) || (rule.endDate !== undefined && rule.endDate <= nextMs)) {
      return { schedule: undefined };
    }
    const times: Recurrence =
      rule.pattern === undefined
        ? { everyMs: rule.every! }
        : { cron: rule.pattern, ...(rule.tz !== undefined && { timeZone: rule.tz }) };
    const schedule: NewSchedule = {
      id,
      recurrence: {
        ...times,
        startAt: nextMs + 1,
        ...(rule.endDate !== undefined && { endAt: rule.endDate }),
        ...(left !== undefined && { limit: left }),
      },
      options: optionsOf(old, rules),
    };
    encodeSchedule(queue, id, schedule.recurrence, schedule.options);
    const ours = nextTick(times, nextMs - 1);
    const isShifted = ours !== nextMs && !(rule.every !== undefined && rules.shiftIntervals);
    return isShifted ? { reason: shifted(old, ours) } : { schedule };
  } catch (error) {
    return { reason: (error as Error).message };
  }
}

function shifted({ nextMs, rule }: ReadScheduler, ours: number): string {
  const [theirs, here] = [nextMs, ours].map((ms) => new Date(ms).toISOString());
  const remedy =
    rule.every === undefined
      ? 'its time zone is that of its process: set tz there, or create the schedule by hand'
      : 'intervals are whole multiples here: pass --shift-intervals to accept that';
  return `it fires next at ${theirs}, and here at ${here}; ${remedy}`;
}

function optionsOf({ name, data, opts }: ReadScheduler, rules: MoveRules): ScheduleOptions {
  const options: OldOptions = readOptions(opts);
  const priority = priorityOf(rules, options.priority ?? 0);
  const maxAttempts = Math.max(1, options.attempts ?? 1);
  const backoff = maxAttempts > 1 ? backoffOf(options.backoff, rules.backoffs, maxAttempts) : undefined;
  if (typeof priority === 'string') {
    throw new Error(priority);
  }
  if (backoff?.reason !== undefined) {
    throw new Error(backoff.reason);
  }
  return {
    name: nameOf(rules, name),
    payload: data === undefined ? {} : (JSON.parse(data) as unknown),
    maxAttempts,
    ...(backoff && { backoff: backoff.value }),
    ...(priority > 0 && { priority }),
    ...(options.resultTtlMs !== undefined && { resultTtlMs: options.resultTtlMs }),
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
  };
}
