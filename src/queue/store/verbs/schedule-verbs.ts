// The verbs of recurring jobs; see lua/schedule.
import type { Recurrence, ScheduleRecord } from '../../model/schedule.js';
import type { Sealed } from '../../codec/sealed.js';
import type { AskedOptions } from '../asked-options.js';
import type { StoreCall } from '../store-call.js';

/** The definition of a schedule, checked. */
export interface StoredSchedule {
  id: string;
  /** Names all the rest: equal definitions have equal versions. */
  version: string;
  /** Its instants are in epoch ms. */
  recurrence: Recurrence;
  name: string;
  /** JSON. */
  payload: Sealed;
  options: AskedOptions;
  onMissed: 'skip' | 'once';
  missedAfterMs: number;
}

/** A due schedule, as a read of the queue returned it. */
export interface DueSchedule {
  id: string;
  /** Server time, in ms. */
  dueAtMs: number;
  version: string;
  /** JSON of a Recurrence. */
  recurrence: string;
}

/** The result of a look for due schedules. */
export interface DueLook {
  /** Server time, in ms. */
  nowMs: number;
  /** The time until the next schedule is due, in ms, besides the due ones; undefined if there is none. */
  nextDueInMs: number | undefined;
  /** True if more are due than were looked at. */
  more: boolean;
  /** The due ones, then some of the others, to verify their due times. */
  due: DueSchedule[];
}

export type UpsertOutcome = 'created' | 'changed' | 'unchanged' | 'conflict' | 'declared' | 'stale' | 'next';
type TickOutcome = 'enqueued' | 'kept' | 'skipped' | 'moved' | 'lost';

type ResumeReply =
  | { outcome: 'resumed' | 'missing' }
  | { outcome: 'next'; nowMs: number; version: string; recurrence: Recurrence };

export interface ScheduleVerbs {
  /**
   * @param worker who declares it in code; undefined for a call
   * @param knownAt the time of the last change that the caller knows, null for a new schedule; undefined for any
   */
  upsert(
    schedule: StoredSchedule,
    worker: string | undefined,
    nextDueMs: number | undefined,
    knownAt?: Date | null,
  ): StoreCall<{ outcome: UpsertOutcome; nowMs: number }>;
  declare(
    worker: string,
    declares: boolean,
    schedules: readonly Pick<StoredSchedule, 'id' | 'version'>[],
  ): StoreCall<('declared' | 'conflict' | 'upsert')[]>;
  /** @param othersFrom the first of the schedules to verify, besides the due ones; undefined for none */
  due(limit: number, othersFrom?: number): StoreCall<DueLook>;
  tick(ticks: readonly (DueSchedule & { nextDueMs: number })[]): StoreCall<TickOutcome[]>;
  run(
    id: string,
    jobId: string,
  ): StoreCall<{ outcome: 'added' | 'exists' | 'kept' | 'missing'; jobId: string; name: string }>;
  pause(id: string): StoreCall<'paused' | 'missing'>;
  /** @param next the next due time, with the version of the definition that determined it */
  resume(id: string, next?: { dueMs: number; version: string }): StoreCall<ResumeReply>;
  remove(id: string): StoreCall<'removed' | 'missing' | 'declared'>;
  list(offset: number, limit: number): StoreCall<ScheduleRecord[]>;
  /** Returns a list of one, or of none. */
  get(id: string): StoreCall<ScheduleRecord[]>;
}
