import type { StoredBackoff } from './backoff.js';
import type { JobStatus } from './job.js';

/**
 * The times of a recurring job.
 *
 * `cron`: five fields (minute, hour, day of month, month, day of week). Also six with a leading second, or `@daily` and
 * the like. `timeZone`: an IANA name; default `UTC`. It is never the zone of the process, which may differ between
 * replicas.
 *
 * `everyMs`: all whole multiples of this many ms since 1970 (at least 100), so that no restart moves them.
 */
export type Recurrence = RecurrenceBounds &
  (
    | { cron: string; timeZone?: string | undefined; everyMs?: undefined }
    | { everyMs: number; cron?: undefined; timeZone?: undefined }
  );

/** The bounds of a recurrence, and the spread of its ticks. */
export interface RecurrenceBounds {
  /** The first tick is at this instant or later. It does not move the times. @default at once */
  startAt?: Date | number | undefined;
  /** The last tick is at this instant or earlier. @default never */
  endAt?: Date | number | undefined;
  /** The schedule ends after this many jobs, counted since it was created: 1 to 1,000,000,000. @default without a limit */
  limit?: number | undefined;
  /**
   * Delays each tick by up to this many ms, so that schedules with equal times do not tick at once. The delay depends
   * on the queue, the id and the time, so it is the same in every process. At most the time between two ticks. @default
   * 0
   */
  jitterMs?: number | undefined;
}

/** The record of a schedule. */
export interface ScheduleRecord<Payload = unknown> {
  /** The id of the schedule. */
  id: string;
  /** The name of the queue. */
  queue: string;
  /** The name of its jobs. */
  name: string;
  /** The payload of its jobs. */
  payload: Payload;
  /** Its cron expression, if it has one. */
  cron?: string;
  /** The time zone of its cron expression. */
  timeZone?: string;
  /** Its interval in ms, if it has one. */
  everyMs?: number;
  /** Before this it makes no job; null: at once. */
  startAt: Date | null;
  /** After this it makes no job; null: never. */
  endAt: Date | null;
  /** After how many jobs it ends. */
  limit?: number;
  /** The most that a job starts late, in ms. */
  jitterMs?: number;
  /** The handling of missed ticks. */
  onMissed: 'skip' | 'once';
  /** The delay from which a tick counts as missed, in ms. */
  missedAfterMs: number;
  /** True if a tick enqueues a job while the last one is unfinished. */
  overlap: boolean;
  /** The options of its jobs that it sets. */
  options: ScheduledJobOptions;
  /**
   * `undeclared`: its code no longer runs in any process; it has stopped and is removed after a day. `ended`: it has no
   * tick left, by its `endAt` or `limit`. If a call created it, it is removed after a day.
   */
  status: 'active' | 'paused' | 'undeclared' | 'ended';
  /** `code`: a decorator or a worker's option, which keeps it going. `call`: an upsert; it lives until it is removed. */
  source: 'code' | 'call';
  /** True while a running process declares it in its code, also while it is paused. Then a call cannot change it. */
  isDeclared: boolean;
  /** The next due time; null while it rests. */
  nextAt: Date | null;
  /** The due time that passed without a run, because no process makes its runs. Null: it is on time, or paused. */
  overdueSince: Date | null;
  /** The time of its pause; null if it is not paused. */
  pausedAt: Date | null;
  /** The time since when no tick is left. */
  endedAt: Date | null;
  /** The due time of its last tick. */
  lastTickAt: Date | null;
  /** The job of that tick. */
  lastJobId: string | null;
  /** The number of ticks that enqueued a job. */
  ticks: number;
  /** The number of skipped ticks. */
  skipped: number;
  /** Its last twenty runs, the newest first. */
  runs: ScheduleRun[];
  /** The time of its creation. */
  createdAt: Date;
  /** The time of its last change. */
  updatedAt: Date;
}

/** The options of its jobs that a schedule sets. */
export interface ScheduledJobOptions {
  /** 0 to 1,000; higher is more urgent. */
  priority?: number;
  /** The group of the jobs. */
  group?: string;
  /** The number of times a job is tried in all. */
  maxAttempts?: number;
  /** The number of attempts that may end in a crash of the worker. */
  maxCrashes?: number;
  /** The delay before a retry. */
  backoff?: StoredBackoff;
  /** The time one attempt may run, in ms. */
  timeoutMs?: number;
  /** The slots that a job takes, if its handler has a range. */
  slots?: number;
  /** What a job costs of limits that its queue shares, by their names. */
  limitCosts?: Record<string, number>;
  /** True if the result is stored. */
  keepResult?: boolean;
  /** The time an ended job can be read, in ms. */
  resultTtlMs?: number;
  /** Fails a job that has not started within this many ms of its tick. */
  expiresInMs?: number;
}

/** One run of a schedule. */
export interface ScheduleRun {
  /** The id of its job; null for a tick that enqueued none. */
  jobId: string | null;
  /** The due time of its tick; the time of the call for a run by `runNow`. */
  at: Date;
  /**
   * The state of its job. `missed`: the tick came too late. `kept`: the last job was unfinished, and the schedule has no
   * `overlap`. `gone`: the record of the job went before anybody saw its end.
   */
  status: JobStatus | 'missed' | 'kept' | 'gone';
  /** True for a run by `runNow`. */
  isByHand: boolean;
}
