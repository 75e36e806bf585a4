import type { ScheduleRun } from '../../queue/model/schedule.js';
import type { QueueVerdictView } from './verdict-views.js';

/** A run of a schedule, newest first. */
export interface ScheduleRunView {
  /** The id of its job; null for a tick that enqueued none. */
  jobId: string | null;
  at: number;
  status: ScheduleRun['status'];
  isByHand: boolean;
}

/** A recurring job as a row. */
export interface ScheduleView {
  id: string;
  queue: string;
  name: string;
  /** Its times in words, without the time zone. */
  words: string;
  recurrence: string;
  /** The time zone of its clock: UTC for an interval. */
  timeZone: string;
  /** What else it keeps to: jitter, limit, bounds, overlap. */
  rules: string[];
  status: 'active' | 'paused' | 'undeclared' | 'ended';
  /** That nobody makes its runs, or that one does not end, with the cause; null for neither. */
  late: string | null;
  /** When it was paused, or when it ended. */
  since: number | null;
  source: 'code' | 'call';
  /** True while a running process declares it: then it is changed in the code. */
  isDeclared: boolean;
  /** The next three times; none while it rests. */
  next: number[];
  ticks: number;
  skipped: number;
  runs: ScheduleRunView[];
}

/** The recurring jobs of all queues that could be read. */
export interface SchedulesView {
  schedules: ScheduleView[];
  unreadable: QueueVerdictView[];
}

/** A schedule as the form shows it. */
export interface EditedScheduleView {
  id: string;
  queue: string;
  name: string;
  cron: string | null;
  timeZone: string | null;
  everyMs: number | null;
  startAt: number | null;
  endAt: number | null;
  limit: number | null;
  jitterMs: number | null;
  onMissed: 'skip' | 'once';
  overlap: boolean;
  priority: number | null;
  maxAttempts: number | null;
  /** Its payload as JSON; null if it cannot be edited here, for `payloadRefusal`. */
  payload: string | null;
  payloadRefusal: string | null;
  /** Why the schedule cannot be edited; null if it can. */
  refusal: string | null;
  /** The time of its last change. An edit names it, so that it undoes no other. */
  updatedAt: number;
}

/** The times of a schedule that is not stored yet. */
export interface PreviewView {
  words: string;
  /** The time zone of its clock: UTC for an interval. */
  timeZone: string;
  /** The time of the server. */
  at: number;
  next: number[];
}
