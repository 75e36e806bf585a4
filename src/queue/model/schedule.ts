/**
 * When a recurring job is due.
 *
 * `cron`: five fields (minute, hour, day of month, month, day of week), six with a leading second, or `@daily` and the
 * like. `timeZone`: an IANA name; default `UTC`, and never the zone of the process, in which two replicas may differ.
 *
 * `everyMs`: at all whole multiples of so many ms since 1970 (100 or more), so that no restart moves them.
 */
export type Recurrence =
  | { cron: string; timeZone?: string; everyMs?: undefined }
  | { everyMs: number; cron?: undefined; timeZone?: undefined };

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
  onMissed: 'skip' | 'once';
  missedAfterMs: number;
  /** `undeclared`: it comes from code that no process runs any more; it has stopped and is removed after a day. */
  status: 'active' | 'paused' | 'undeclared';
  /** `code`: a decorator or a worker's option, which keeps it going. `call`: an upsert; it lives until it is removed. */
  source: 'code' | 'call';
  /** When it is due next; null while it rests. */
  nextAt: Date | null;
  pausedAt: Date | null;
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
  recurrence: Recurrence;
  name: string;
  payload: string;
  options: string;
  onMissed: 'skip' | 'once';
  missedAfterMs: number;
}
