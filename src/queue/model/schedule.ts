/**
 * When a recurring job is due.
 *
 * `cron`: five fields (minute, hour, day of month, month, day of week), six with a leading second, or `@daily` and the
 * like. `timeZone`: an IANA name; default `UTC`, and never the zone of the process, in which two replicas may differ.
 *
 * `everyMs`: at all whole multiples of so many ms since 1970 (100 or more), so that no restart moves them.
 */
export type Recurrence = RecurrenceBounds &
  (
    | { cron: string; timeZone?: string; everyMs?: undefined }
    | { everyMs: number; cron?: undefined; timeZone?: undefined }
  );

/** When a recurrence begins and ends, and how far its ticks spread. */
export interface RecurrenceBounds {
  /** The first tick is at this instant or later. It does not move the times. Default: at once. */
  startAt?: Date | number;
  /** The last tick is at this instant or earlier. Default: never. */
  endAt?: Date | number;
  /** The schedule ends after this many jobs, counted since it was created: 1 to 1,000,000,000. Default: without a limit. */
  limit?: number;
  /**
   * Delays each tick by up to this many ms, so that schedules with equal times do not tick at once. The delay follows from the
   * queue, the id and the time, so it is the same in every process. At most the time between two ticks. @default 0
   */
  jitterMs?: number;
}

/** A schedule as it is now. */
export interface ScheduleRecord<Payload = unknown> {
  id: string;
  queue: string;
  /** The name of its jobs. */
  name: string;
  payload: Payload;
  cron?: string;
  timeZone?: string;
  everyMs?: number;
  startAt: Date | null;
  endAt: Date | null;
  /** After how many jobs it ends. */
  limit?: number;
  jitterMs?: number;
  onMissed: 'skip' | 'once';
  missedAfterMs: number;
  /**
   * `undeclared`: it comes from code that no process runs any more; it has stopped and is removed after a day.
   * `ended`: it has no tick left, by its `endAt` or `limit`; one that a call made is removed after a day.
   */
  status: 'active' | 'paused' | 'undeclared' | 'ended';
  /** `code`: a decorator or a worker's option, which keeps it going. `call`: an upsert; it lives until it is removed. */
  source: 'code' | 'call';
  /** When it is due next; null while it rests. */
  nextAt: Date | null;
  pausedAt: Date | null;
  /** Since when no tick is left. */
  endedAt: Date | null;
  /** The due time of its last tick that was made. */
  lastTickAt: Date | null;
  /** The job of that tick. */
  lastJobId: string | null;
  /** How many ticks enqueued a job, and how many did not: missed, or without overlap. */
  ticks: number;
  skipped: number;
  createdAt: Date;
  updatedAt: Date;
}

/** A definition, checked and encoded as the scripts store it. */
export interface StoredSchedule {
  id: string;
  /** Names all the rest: equal definitions have equal versions. */
  version: string;
  /** Its instants are in epoch ms. */
  recurrence: Recurrence;
  name: string;
  payload: string;
  options: string;
  onMissed: 'skip' | 'once';
  missedAfterMs: number;
}
