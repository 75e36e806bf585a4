import type { WorkerDeath } from '../queue/model/history.js';
import type { QueueStats, UnservedName } from '../queue/model/job.js';
import type { LostMember } from '../queue/operate/elsewhere.js';
import type { SharedLimitState } from '../queue/model/shared-limit.js';
import type { ScheduleRecord } from '../queue/model/schedule.js';
import type { GroupLimits, RateLimit, RuntimeLimits } from '../queue/model/limits.js';

/** The severity. `ok` and `notice` need no action; `warning` needs one today; `critical` needs one now. */
export type Severity = 'ok' | 'notice' | 'warning' | 'critical';

/** The states of a queue. */
export type QueueState =
  | 'idle'
  | 'flowing'
  | 'waiting'
  | 'paused'
  | 'limited'
  | 'late'
  | 'falling-behind'
  | 'failing'
  | 'unmaintained'
  | 'unreadable'
  | 'stuck';

/** The facts about a queue beside its stats. */
export interface QueueSigns {
  queue: string;
  stats: QueueStats;
  /** The recent rates. Absent if nothing recorded them. */
  rates?: RecentRates;
  /** The jobs per second over the last seconds, of a window that reads again and again. */
  pace?: RecentPace;
  /** The jobs that died in the last ten minutes. */
  diedLately?: number;
  /** The workers that died in the last ten minutes while they ran jobs of the queue, the last first. Absent for none. */
  deaths?: readonly SeenDeath[];
  /** The workers that are silent although they hold jobs, the last seen first. Absent for none. */
  silent?: readonly SilentWorker[];
  /** How the run time, or else the arrivals, differ from usual. Absent: as usual, or the history is too short. */
  change?: RecentChange;
  /** The jobs that died in the last hour, and all that ended. Absent if the history does not know. */
  lastHour?: { died: number; ended: number };
  /** True if any job ended in the last three minutes, for a history that is too short for rates. */
  hasEnded?: boolean;
  /** The usual run time of handlers at this hour, in ms: 95 % took less. Absent if none ended. */
  usualRunMs?: number;
  /** The usual wait of jobs at this hour, in ms: half of them waited less. Absent if none started. */
  usualWaitMs?: number;
  /** Names among the waiting jobs that no live worker handles, the longest wait first. */
  unserved?: readonly UnservedName[];
  /** The end of the queue's rest, since a handler threw a RateLimitedError. */
  restsUntil?: Date;
  /** The number of jobs that the whole fleet may start in a period. */
  rateLimit?: RateLimit;
  /** The time when the rate lets the next job start. Absent: now. */
  nextStartAt?: Date;
  /** The number of jobs that the whole fleet may run at once. */
  maxRunning?: number;
  /** The last changes of the limits at run time, the newest first. Absent if those of the code hold. */
  limitsSet?: readonly LimitsEntry[];
  /** The limits of the code while others are set. Absent: the same hold, or no worker has said them. */
  configured?: RuntimeLimits;
  /** The groups with the most waiting jobs, while groups hold some back. Absent for none. */
  waitingGroups?: readonly { name: string; pending: number }[];
  /** What groups wait for that rest for a permit of their key of a shared limit. Absent for none. */
  awaitedKeys?: AwaitedKeys;
  /** The limits of each group without limits of its own. */
  groupLimits?: GroupLimits;
  /** The limits that the queue shares with others. Absent for none. */
  sharedLimits?: readonly SharedLimitState[];
  /** What a job costs of these limits, where that is more than one. Absent for none. */
  limitCosts?: Readonly<Record<string, number>>;
  /** The number of slots of this queue's workers. Absent if it is unknown. */
  slots?: number;
  /**
   * The number of these slots that claimed jobs take, if some take several. Slots that are too few for any job count too. Absent: one
   * for each job.
   */
  usedSlots?: number;
  /** The number of these slots that handlers keep although they ignore their aborted signal. */
  stuckSlots?: number;
  /** The number of the jobs of these handlers. Absent: one for each slot. */
  stuckJobs?: number;
  /** The number of workers that are paused in their process. */
  pausedWorkers?: number;
  /** The time since the last maintenance of this queue, in ms; 0 or absent unless it is overdue. */
  sinceMaintenanceMs?: number;
  /** Members for which batches of this queue wait, although they are nowhere. Absent for none. */
  lostMembers?: readonly LostMember[];
  /** The schedules of the queue, at most a hundred. Absent for none. */
  schedules?: readonly ScheduleRecord[];
  /** The time of the figures. */
  at?: Date;
}

/** The keys of shared limits for whose permits groups of a queue rest. */
export interface AwaitedKeys {
  /** The number of these groups. */
  groups: number;
  /** The number of their waiting jobs. */
  jobs: number;
  /** Some of these keys, those of the longest lines first. One that the viewer may not see has no `key`. */
  keys: readonly SharedLimitState[];
}

/** An entry of the action log for limits that were set. */
export interface LimitsEntry {
  by: string;
  at: Date;
  /** The limits in words, see `inWords`. */
  what: string;
}

/** A worker that died, and when that became known. */
export interface SeenDeath extends WorkerDeath {
  at: Date;
}

/** A worker without a recent announcement. */
export interface SilentWorker {
  id: string;
  seenAt: Date;
  /** The number of jobs that it holds. */
  holds: number;
}

/** Jobs per second over the last seconds. */
export interface RecentPace {
  inPerS: number;
  outPerS: number;
  failedPerS: number;
}

/** A figure that is unlike the same hour of the last days, or unlike the begin of the last hour. */
export interface RecentChange {
  /** `run`: half of the handlers take this long, in ms. `in`: jobs that come, per second. */
  of: 'run' | 'in';
  /** True if the arrivals have grown too, beside a longer run time. */
  alsoMore?: true;
  before: number;
  now: number;
  /** Absent if it began more than an hour ago. */
  since?: Date;
}

/** Jobs per second over the last minutes: three, or three times as long as most handlers take. */
export interface RecentRates {
  windowMs: number;
  in: number;
  /** Jobs that ended, well or badly. */
  out: number;
  /** The number of attempts that ended in the window. A failed attempt counts too. */
  attempts: number;
  /** Attempts that failed, as a share of these: 0 to 1. */
  failedShare: number;
  /** True if more jobs were added than ended in each third of the window. A shrinking burst does not grow. */
  growing: boolean;
}

/** One sentence on a queue, with its likely cause and the next step. */
export interface QueueVerdict {
  /** The name of the queue. */
  queue: string;
  /** The severity of the problem. */
  severity: Severity;
  /** The state of the queue. */
  state: QueueState;
  /**
   * The sentence.
   *
   * @example "stuck: 1,204 waiting for 6 min, no worker"
   */
  summary: string;
  /** The likely cause. Absent where all is well. */
  cause?: string;
  /** The next step. Absent if there is none. */
  next?: string;
}
