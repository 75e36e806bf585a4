import type { QueueStats } from '../queue/model/job.js';
import type { GroupLimits, RateLimit } from '../queue/model/limits.js';

/** How bad it is. `ok` and `notice` need nobody; `warning` needs somebody today; `critical` needs somebody now. */
export type Severity = 'ok' | 'notice' | 'warning' | 'critical';

/** What a queue does. */
export type QueueState =
  'idle' | 'flowing' | 'waiting' | 'paused' | 'limited' | 'falling-behind' | 'failing' | 'unmaintained' | 'stuck';

/** What is known of a queue beside its stats. */
export interface QueueSigns {
  queue: string;
  stats: QueueStats;
  /** What moved lately. Absent where nothing recorded it. */
  rates?: RecentRates;
  /** How long most handlers took in the last hour, in ms. Absent where none ended in it. */
  usualRunMs?: number;
  /** Names among the waiting jobs that no live worker handles. */
  unserved?: readonly string[];
  /** Until when the queue rests, since a handler threw a RateLimitedError. */
  restsUntil?: Date;
  /** How many jobs the whole fleet may start in a period. */
  rateLimit?: RateLimit;
  /** When the rate lets the next job start. Absent: now. */
  nextStartAt?: Date;
  /** How many jobs the whole fleet may run at once. */
  maxRunning?: number;
  /** The limits of each group that has none of its own. */
  groupLimits?: GroupLimits;
  /** How many jobs this queue's workers may run at once. Absent where it is not known. */
  slots?: number;
  /** How many of these slots are kept by handlers that go on although their signal was aborted. */
  stuckSlots?: number;
  /** How many of the workers are paused in their process. */
  pausedWorkers?: number;
  /** When the reclaim last ran on this queue, in ms ago. Absent where it is not known. */
  sinceMaintenanceMs?: number;
  /** By when the figures were taken. */
  at?: Date;
}

/** Jobs per second over the last minutes: three, or three times as long as most handlers take. */
export interface RecentRates {
  windowMs: number;
  in: number;
  /** Jobs that ended, well or badly. */
  out: number;
  /** How many attempts ended in the window, also those that are tried again. */
  attempts: number;
  /** Attempts that failed, as a share of these: 0 to 1. */
  failedShare: number;
  /** True if more came than ended in each third of the window. A burst that is worked off does not grow. */
  growing: boolean;
}

/** One sentence on a queue, with its likely cause and the next thing to do. */
export interface QueueVerdict {
  queue: string;
  severity: Severity;
  state: QueueState;
  /** @example "stuck: 1,204 waiting for 6 min, no worker" */
  summary: string;
  /** The likely cause. Absent where all is well. */
  cause?: string;
  /** What to do next. Absent where there is nothing to do. */
  next?: string;
}
